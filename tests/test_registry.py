"""A new family is one file (here) and one registration; the library knows it everywhere then."""

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pytest

import nearbayes as nb
from nearbayes import registry
from nearbayes.core.data import Data
from nearbayes.files.arrays import array_bytes, array_of

# the tests do not need these
ABSENT = {"autogluon", *(name for name in ("catboost", "torch") if find_spec(name) is None)}


@dataclass(frozen=True)
class ToyBatched(nb.ChunkAlgorithm):
    """The mean of normal outcomes, for eight draws at a time: a whole family in 25 lines."""

    noise: float = 1.0
    traits = nb.Traits(chunk=8, keeps_rows=False, runs_in="threads")

    def fit(self, data, streams):
        return np.array([np.average(each.y, weights=each.count) for each in data])

    def sample(self, models, x, streams):
        numbers = np.stack([rng.standard_normal(len(x[0])) for rng in streams])
        return models[:, None] + self.noise * numbers

    def refit(self, data, new, models, streams):
        return models + new.size / new.total * (new.y.mean(axis=1) - models)

    def predict(self, models, x):
        return np.repeat(np.asarray(models)[:, None], len(x), axis=1)


def dump_draws(algorithm, drawn, models, members):
    return {
        "noise": algorithm.noise,
        "mean": members.add("arrays", array_bytes(np.array(drawn)), "npy"),
    }


def load_draws(record, size, read, trusted=()):
    return ToyBatched(record.number("noise")), array_of(read(record.text("mean")), "f")


def example():
    return ToyBatched(), Data.of(np.zeros((40, 1)), np.random.default_rng(0).normal(size=40))


TOY = registry.Family(
    name="toy",
    types=(f"{__name__}.ToyBatched",),
    files=__name__,
    example=f"{__name__}:example",
)


@pytest.fixture
def toy():
    yield registry.register(TOY)
    del registry._FAMILIES["toy"]


def test_a_toy_family_is_drawn_resumed_bootstrapped_saved_and_loaded(toy, tmp_path):
    algorithm, data = toy.resolved("example")()
    posterior = nb.martingale_posterior(algorithm, data, n_draws=300, random_state=0, n_jobs=2)
    sd = posterior.apply(float).std
    assert abs(sd * np.sqrt(40) - 1) < 4.5 / np.sqrt(600)  # the flat prior's posterior
    few = nb.martingale_posterior(algorithm, data, n_draws=3, random_state=0)
    assert np.array_equal(few.models, posterior.models[:3])
    more = nb.martingale_posterior(algorithm, data, n_draws=300, resume=few)
    assert np.array_equal(more.models, posterior.models)
    assert len(nb.baselines.bootstrap(algorithm, data, n_draws=9)) == 9
    assert len(nb.baselines.parametric_bootstrap(algorithm, data, n_draws=9)) == 9
    loaded = nb.load(posterior.save(tmp_path / "toy.nearbayes"))
    assert np.array_equal(loaded.predict(data.x), posterior.predict(data.x))
    assert loaded.provenance == posterior.provenance


def test_without_a_line_a_family_is_drawn_but_not_saved(tmp_path):
    algorithm, data = example()
    posterior = nb.martingale_posterior(algorithm, data, n_draws=3, random_state=0)
    with pytest.raises(TypeError, match="draws of ToyBatched cannot be saved, as no family in"):
        posterior.save(tmp_path / "toy.nearbayes")


def test_every_family_says_where_its_parts_are():
    for family in registry.families():
        assert family.example is not None
        if family.name in ABSENT:
            continue
        for part in ("fit", "algorithm", "files", "example"):
            if getattr(family, part) is not None:
                assert family.resolved(part) is not None


def test_a_missing_package_is_named_with_its_extra():
    family = registry.Family("other", (), fit="no_such_package:Fit", extra="other")
    with pytest.raises(
        ModuleNotFoundError, match=r"other models need no_such_package: pip install"
    ):
        family.resolved("fit")


def test_families_of_things():
    assert registry.family_of(nb.SequentialMLE(nb.families.Poisson())).name == "exponential family"
    assert registry.family_of(3) is None
    assert registry.family_named("nothing") is None


def test_subclasses_do_not_belong():
    class Own(nb.SequentialMLE):
        pass

    assert registry.family_of(Own(nb.families.Poisson())) is None
