"""Causal models in files: they answer as before bit for bit, and odd files are refused."""

import json

import numpy as np
import pandas as pd
import pytest
from file_cases import change_of, repacked, unpacked, with_manifest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from xgboost import XGBRegressor

import nearbayes as nb
from nearbayes.files import FileRefused, NotSaveable
from nearbayes.files.arrays import array_bytes, array_of

RNG = np.random.default_rng(0)
N = 40
A = RNG.normal(size=N)
FRAME = pd.DataFrame(
    {
        "a": A,
        "group": RNG.choice(["low", "high"], N),
        "count": RNG.poisson(np.exp(0.3 * A)).astype(np.int16),
        "yes": A + RNG.normal(size=N) > 0,
    }
)
FRAME["y"] = A + FRAME["yes"] + 0.5 * RNG.normal(size=N)
EDGES = [("a", "count"), ("a", "yes"), ("a", "y"), ("yes", "y"), ("group", "y")]
RUN = {"n_draws": 3, "n_refits": 1, "random_state": 0, "progress": False}
SMALL = {"width": 8, "depth": 1, "n_iterations": 10, **RUN}


class Unknown(RegressorMixin, BaseEstimator):
    """An estimator that no file can hold."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def answers(model):
    """One answer to every kind of question."""
    plus = {"a": lambda a: a + 1}
    return [
        model.sample(do={"yes": True}, n=9).to_frame(),
        model.interventional_mean("y", do={"a": 0.5}).interval(),
        model.interventional_mean("yes", do={"a": 0.5}).interval(),
        model.interventional_cdf("y", [0.0, 1.0], do=plus).values,
        model.interventional_quantiles("count", do=plus).values,
        model.effect("y", {"a": 1.0}, {"a": 0.0}, given={"group": "low"}).values,
        model.counterfactual(FRAME[:5], do={"a": 0.0}).to_frame(),
    ]


def check_same(model, loaded):
    for ours, theirs in zip(answers(model), answers(loaded), strict=True):
        if isinstance(ours, pd.DataFrame):
            pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
        else:
            np.testing.assert_array_equal(ours, theirs)


@pytest.fixture(scope="module")
def diffusion():
    return nb.causal.DiffusionSCM(EDGES, **SMALL).fit(FRAME)


@pytest.fixture(scope="module")
def linear():
    return nb.causal.SCM(EDGES, models="linear", **RUN).fit(FRAME)


@pytest.fixture(scope="module")
def file_of_linear(linear, tmp_path_factory):
    return linear.save(tmp_path_factory.mktemp("causal") / "linear.nearbayes")


@pytest.fixture(scope="module")
def file_of_diffusion(diffusion, tmp_path_factory):
    return diffusion.save(tmp_path_factory.mktemp("causal") / "diffusion.nearbayes")


def test_diffusion_models_come_back(diffusion, file_of_diffusion):
    loaded = nb.load(file_of_diffusion)
    check_same(diffusion, loaded)
    for name in ("width", "n_iterations", "method", "random_state"):
        assert getattr(loaded, name) == getattr(diffusion, name)
    (mechanism, *_), (first, *_) = (
        each.posterior_.algorithm.mechanisms for each in (loaded, diffusion)
    )
    assert (mechanism.optimiser, mechanism.n_rows) == (first.optimiser, N)
    assert nb.files.describe(file_of_diffusion).manifest["kind"] == "DiffusionSCM"


MODELS = {
    "trees": "auto",
    "mixed": {"y": XGBRegressor(n_estimators=3), "count": Ridge(), "yes": LogisticRegression()},
}


@pytest.mark.parametrize("models", MODELS.values(), ids=MODELS)
def test_models_of_estimators_come_back(models, tmp_path):
    model = nb.causal.SCM(EDGES, models=models, **RUN).fit(FRAME)
    loaded = nb.load(model.save(tmp_path / "m.nearbayes"))
    check_same(model, loaded)
    assert str(loaded.models) == str(models)
    assert loaded.fit(FRAME).graph_ == model.graph_  # and can be fitted again


@pytest.mark.parametrize("noise", ["residual", "heteroscedastic"])
def test_noises_and_schedules_come_back(noise, tmp_path):
    schedule = nb.Schedule.arithmetic(horizon=0.5, block=0.25)
    settings = {**RUN, "n_refits": None, "random_state": np.random.default_rng(3)}
    model = nb.causal.SCM(EDGES, models="linear", noise=noise, schedule=schedule, **settings)
    loaded = nb.load(model.fit(FRAME).save(tmp_path / "m.nearbayes"))
    check_same(model, loaded)
    assert (loaded.noise, loaded.schedule) == (noise, schedule)
    assert loaded.random_state == model.posterior_.provenance.seed


def test_fewer_draws_and_the_posterior_alone(linear, tmp_path):
    loaded = nb.load(linear.save(tmp_path / "m.nearbayes", thin=2))
    both = [each.effect("y", {"a": 1.0}).values for each in (linear, loaded)]
    np.testing.assert_array_equal(both[0][[0, 2]], both[1])
    posterior = nb.load(linear.posterior_.save(tmp_path / "p.nearbayes"))
    roots = linear.rows_[:, :2]
    np.testing.assert_array_equal(posterior.predict(roots), linear.posterior_.predict(roots))


def test_a_file_does_not_tell_which_effects_belong_to_a_row(linear, file_of_linear):
    loaded = nb.load(file_of_linear)
    effects = [linear.graph_.nodes.index(node) for node in linear.graph_.effects]
    assert np.isnan(loaded.rows_[:, effects]).all()
    for name in ("y", "count"):
        np.testing.assert_array_equal(loaded.seen_[name], np.sort(FRAME[name]))
    arrays = [array_of(data) for name, data in unpacked(file_of_linear).items() if ".npy" in name]
    assert not any(FRAME["y"].to_numpy().tobytes() in each.tobytes() for each in arrays)


def test_the_same_model_gives_the_same_file(linear, file_of_linear, tmp_path):
    again = linear.save(tmp_path / "m.nearbayes")
    assert again.read_bytes() == file_of_linear.read_bytes()


def test_models_that_cannot_be_saved_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "m.nearbayes"
    with pytest.raises(ValueError, match="not fitted"):
        nb.causal.SCM(EDGES).save(path)
    model = nb.causal.SCM(EDGES, models={"y": Unknown()}, n_draws=2, n_refits=1).fit(FRAME)
    with pytest.raises(NotSaveable, match=r"node 'y', Unknown, cannot be saved: give") as caught:
        model.save(path)
    assert "\n" not in str(caught.value)
    dates = pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"] * (N // 2)))
    model = nb.causal.SCM([("a", "y"), ("when", "y")], models="linear", **RUN)
    with pytest.raises(NotSaveable, match="'when' have the type Timestamp"):
        model.fit(FRAME.assign(when=dates)).save(path)
    assert not path.exists()

    class Mine(nb.causal.SCM):
        """A subclass may do anything, and is no code that a file holds."""

    with pytest.raises(NotSaveable, match="Mine cannot be saved"):
        Mine(EDGES, models="linear", **RUN).fit(FRAME).save(path)


DRAWS = ("posterior", "draws")
WRONG = [
    (("kind",), "CausalModel"),
    (("kind",), "PosteriorRegressor"),
    (("kind",), "DiffusionSCM"),  # has other parameters
    (("params", "evil"), 1),
    (("params", "models"), {"estimator": {"format": "pickle"}}),
    (("params", "random_state"), "x"),
    (("roots",), "arrays/none.npy"),
    (("posterior", "family"), "estimators"),
    ((*DRAWS, "graph"), []),
    ((*DRAWS, "graph"), [{"node": "a", "parents": []}]),
    ((*DRAWS, "graph"), [{"node": "a", "parents": ["b"]}, {"node": "b", "parents": ["a"]}]),
    ((*DRAWS, "graph"), [{"node": "a", "parents": []}, {"node": "b", "parents": ["a", "a"]}]),
    ((*DRAWS, "variables", "columns"), []),
    ((*DRAWS, "mechanisms"), []),
    ((*DRAWS, "weights"), None),
]
WRONG_ENTRIES = [
    (("variables", "columns", 0, "kind"), "object"),
    (("variables", "columns", 0, "kind"), "category"),
    (("variables", "columns", 0, "dtype"), "M8[s]"),
    (("variables", "columns", 1, "categories"), ["low", ["x"]]),
    (("variables", "columns", 1, "categories"), ["low", "low"]),
    (("mechanisms", 0, "kind"), "pickle"),
    (("mechanisms", 0, "node"), "a"),
    (("mechanisms", 0, "node"), "y"),
    (("mechanisms", 0, "family"), "causal graph"),
    (("mechanisms", 0, "family"), "torch"),
]


@pytest.mark.parametrize(("keys", "value"), WRONG, ids=lambda each: str(each)[:60])
def test_entries_that_cannot_be(keys, value, file_of_linear, tmp_path):
    path = with_manifest(tmp_path / "m.nearbayes", file_of_linear, change_of(*keys, to=value))
    check_refused(path)


@pytest.mark.parametrize(("keys", "value"), WRONG_ENTRIES, ids=lambda each: str(each)[:60])
def test_nodes_that_cannot_be(keys, value, file_of_linear, tmp_path):
    change = change_of(*DRAWS, *keys, to=value)
    check_refused(with_manifest(tmp_path / "m.nearbayes", file_of_linear, change))


SETTINGS = ("mechanisms", 0, "settings")
WRONG_DIFFUSIONS = [
    ((*SETTINGS, "width"), 9),
    ((*SETTINGS, "width"), 10**9),
    ((*SETTINGS, "depth"), 10**9),
    ((*SETTINGS, "depth"), 0),
    ((*SETTINGS, "activation"), "os.system"),
    ((*SETTINGS, "prior"), "evil"),
    ((*SETTINGS, "evil"), 1),
    ((*SETTINGS, "n_rows"), "x"),
    ((*SETTINGS, "centred"), {"dict": []}),
    (("mechanisms", 0, "nodes"), ["a"]),
    (("mechanisms", 0, "nodes"), ["yes"]),
    (("mechanisms", 0, "nodes"), ["y"]),
    (("mechanisms", 0, "optimiser"), {"rate": 1.0}),
]


@pytest.mark.parametrize(("keys", "value"), WRONG_DIFFUSIONS, ids=lambda each: str(each)[:60])
def test_diffusions_that_cannot_be(keys, value, file_of_diffusion, tmp_path):
    change = change_of(*DRAWS, *keys, to=value)
    check_refused(with_manifest(tmp_path / "m.nearbayes", file_of_diffusion, change))


@pytest.mark.parametrize("which", ["roots", "seen", "weights", "units"])
@pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: x * np.nan, lambda x: x - 9])
def test_arrays_that_cannot_be(which, change, file_of_linear, tmp_path):
    files = unpacked(file_of_linear)
    manifest = json.loads(files["manifest.json"])
    draws = manifest["posterior"]["draws"]
    names = {"weights": draws["weights"], "units": draws["variables"]["units"]}
    name = {**manifest, **names}[which]
    files[name] = array_bytes(change(array_of(files[name])))
    check_refused(repacked(tmp_path / "m.nearbayes", files))


def check_refused(path):
    with pytest.raises(FileRefused, match=r"refused|damaged") as caught:
        nb.load(path)
    assert "\n" not in str(caught.value)
