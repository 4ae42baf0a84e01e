"""PyTorch modules: the same refit as in JAX, the laws of draws, and what is refused."""

import copy
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

pytest.importorskip("torch")

import torch
from torch import nn

import nearbayes as nb
from nearbayes.core.data import Block, Blocks, Rows
from nearbayes.core.inputs import Urn
from nearbayes.core.seeds import Seeds
from nearbayes.neural.chunks import Fits, NetworkModels, examples_of
from nearbayes.neural.torch_algorithm import TorchAlgorithm
from nearbayes.neural.torch_losses import loss_for, outcomes_for, slopes_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(48, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=48)
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=48) > 0, "up", "down")
IMAGES = RNG.normal(size=(48, 1, 8, 8))
SHORT = {"n_passes": 3, "batch_size": 16}
RUN = {
    "n_draws": 3,
    "random_state": 0,
    "progress": False,
    "schedule": nb.Schedule.optimal(refits=2),
}


def perceptron(outputs=1, width=8, inputs=2):
    return nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, outputs))


def convolutions():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(27, 1), nn.Flatten(0)
    )


class Recurrent(nn.Module):
    """What `vmap` cannot take."""

    def __init__(self):
        super().__init__()
        self.cells, self.last = nn.LSTM(1, 4, batch_first=True), nn.Linear(4, 1)

    def forward(self, x):
        return self.last(self.cells(x[..., None])[0][:, -1])


def drawn(module, loss="squared", data=(X, Y), run=None, **settings):
    algorithm = TorchAlgorithm(module, loss, **{**SHORT, **settings})
    return nb.martingale_posterior(algorithm, data, **{**RUN, **(run or {})})


def prepared(module, loss="squared", data=(X, Y), **settings):
    algorithm = TorchAlgorithm(module, loss, **{**SHORT, **settings})
    return algorithm.prepare(nb.Data.of(*data), np.random.default_rng(0))


# -- the refit -------------------------------------------------------------------------------------


def copied(network, flat):
    """Parameters of a JAX perceptron in the order of a PyTorch one."""
    from nearbayes.neural.network import _structure

    module = _structure(network).unravel(flat)
    layers = [*module.layers, module.last]
    return np.concatenate([np.ravel(part) for each in layers for part in (each.weight, each.bias)])


def test_the_refit_is_that_of_jax():
    pytest.importorskip("equinox")
    from nearbayes.neural.network import MLP
    from nearbayes.neural.network_algorithm import NetworkAlgorithm

    x = (X - X.mean(axis=0)) / X.std(axis=0)
    data = nb.Data.of(x, (Y - Y.mean()) / Y.std())
    network, passes = partial(MLP, hidden=(8,)), {"n_passes": 60, "batch_size": None}
    in_jax, real = NetworkAlgorithm(network, **passes).prepare(data, np.random.default_rng(0))
    streams = Seeds(0).streams(range(8), 0)
    first = in_jax.fit([real] * 8, streams.at(0))
    rows = [Urn().sample(real, 60, rng) for rng in streams.at(1)]
    new = Blocks(rows, in_jax.sample(first, rows, streams), 108)
    grown = [each.extend(block, "means") for each, block in zip([real] * 8, new, strict=True)]
    moved = in_jax.refit(grown, new, first, streams)

    in_torch = TorchAlgorithm(perceptron(), start="given", **passes)
    in_torch, _ = in_torch.prepare(data, np.random.default_rng(0))
    as_torch = partial(copied, in_jax.network)
    same = NetworkModels(
        np.stack([as_torch(each) for each in first.parameters]),
        first.noise,
        np.stack([as_torch(each) for each in first.divisor]),
    )
    found = in_torch.refit(grown, new, same, streams)
    old, jax_outputs = (in_jax.predict(each, x) for each in (first, moved))
    torch_outputs = in_torch.predict(found, x)
    assert np.abs(jax_outputs - old).max() > 0.05  # there is a refit to compare
    np.testing.assert_allclose(torch_outputs, jax_outputs, atol=1e-3)
    np.testing.assert_allclose(found.noise, moved.noise, rtol=1e-5)
    expected = np.stack([as_torch(each) for each in moved.parameters])
    np.testing.assert_allclose(found.parameters, expected, atol=1e-3)


def test_the_first_fit_is_that_of_pytorch_itself():
    """AdamW over all rows, in the units of y."""
    torch.manual_seed(3)
    module = perceptron()
    settings = {"n_passes": 40, "batch_size": None, "weight_decay": 0.1, "start": "given"}
    posterior = drawn(module, run={"schedule": nb.Schedule.optimal(refits=0)}, **settings)
    x, y = (torch.tensor(each, dtype=torch.float32) for each in (X, Y))
    by_hand = copy.deepcopy(module)
    adam = torch.optim.AdamW(by_hand.parameters(), lr=1e-3, weight_decay=0.1)
    for _ in range(40):
        adam.zero_grad()
        (0.5 * (by_hand(x)[:, 0] - y) ** 2).mean().backward()
        adam.step()
    for ours, theirs in zip(posterior.draws[0].parameters(), by_hand.parameters(), strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-5)


def quartic(output, y):
    return ((output - y) ** 4).sum()


def laplace(outputs, rng):
    return rng.laplace(outputs[:, 0])


@pytest.mark.parametrize(
    ("loss", "sample", "outputs"),
    [("squared", None, 1), ("cross_entropy", None, 3), ("poisson", None, 1), (quartic, laplace, 2)],
)
def test_the_divergence_at_old_rows_has_its_minimum_at_the_old_outputs(loss, sample, outputs):
    found = loss_for(outcomes_for(loss, sample, None))
    old = RNG.normal(size=(4, outputs))
    y = np.eye(outputs)[[0, 0, 0, 0]] if loss == "cross_entropy" else RNG.normal(size=(4, outputs))
    shift = slopes_of(found, old, y)

    def divergence(at):
        return found.value(torch.tensor(at), torch.tensor(y)).numpy() - (at * shift).sum(1)

    least = divergence(old)
    for _ in range(50):
        assert (divergence(old + RNG.normal(size=old.shape)) >= least - 1e-9).all()


def test_old_outputs_stay_where_nothing_new_is_said():
    """New outcomes that equal the outputs leave the network as it is, but for rounding."""
    algorithm, real = prepared(perceptron(), batch_size=None, n_passes=50)
    streams = Seeds(0).streams(range(8), 0)
    first = algorithm.fit([real] * 8, streams.at(0))
    x = Rows.every(real.table)
    y = algorithm.outputs(first, X).astype(np.float64)
    new = Blocks([x] * 8, y, 96)
    grown = [real.extend(Block(x, each, 96), "means") for each in y]
    again = algorithm.refit(grown, new, first, streams.at(1))
    np.testing.assert_allclose(algorithm.outputs(again, X), y, atol=1e-4)


# -- modules of all kinds --------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [LABELS, (LABELS == "up").astype(int)])
@pytest.mark.parametrize("outputs", [1, 2])
def test_two_classes_with_one_output_or_two(labels, outputs):
    loss = nn.BCEWithLogitsLoss() if outputs == 1 else nn.CrossEntropyLoss()
    posterior = drawn(perceptron(outputs), loss, (X, labels), n_passes=40, learning_rate=0.02)
    p = posterior.predict(X)
    assert p.shape == (3, 48, 2)
    np.testing.assert_allclose(p.sum(axis=2), 1)
    right = posterior.algorithm.classes[p.mean(axis=0).argmax(axis=1)] == labels
    assert right.mean() > 0.7


def test_counts_numbers_and_several_columns():
    counts = np.random.default_rng(1).poisson(np.exp(X[:, 0] / 2))
    posterior = drawn(perceptron(), nn.PoissonNLLLoss(), (X, counts), n_passes=30)
    assert (posterior.predict(X) > 0).all()
    with torch.no_grad():  # the module's output is the log of the mean
        logs = posterior.draws[0](torch.tensor(X, dtype=torch.float32))[:, 0].numpy()
    np.testing.assert_allclose(np.exp(logs), posterior.predict(X)[0], rtol=1e-4)
    two = np.stack([Y, 1000 * X[:, 1]], axis=1)
    assert drawn(perceptron(2), nn.MSELoss(), (X, two)).predict(X).shape == (3, 48, 2)


def test_a_loss_of_the_user_and_its_samples():
    posterior = drawn(perceptron(), nn.HuberLoss(), sample=laplace, n_passes=20)
    assert posterior.predict(X).shape == (3, 48)
    twice = drawn(
        perceptron(), nn.HuberLoss(), sample=laplace, n_passes=20, predicted=lambda f: 2 * f[:, 0]
    )
    np.testing.assert_allclose(twice.predict(X), 2 * posterior.predict(X))


@pytest.mark.parametrize("shape", [(48, 1, 8, 8), (48, 8, 8)])
def test_images_of_any_number_of_axes(shape):
    images = IMAGES.reshape(shape)
    module = (
        convolutions()
        if len(shape) == 4
        else nn.Sequential(nn.Unflatten(1, (1, 8)), *convolutions())
    )
    posterior = drawn(module, data=(images, Y))
    assert posterior.predict(images[:5]).shape == (3, 5)
    assert posterior.predict(images[:1]).shape == (3, 1)
    with pytest.raises(ValueError, match=r"X must have rows of shape .* got an array of shape"):
        posterior.predict(images[0])
    boot = nb.baselines.bootstrap(TorchAlgorithm(module, **SHORT), (images, Y), n_draws=2)
    assert boot.predict(images).shape == (2, 48)


def test_tables_of_any_kind_and_integers_for_embeddings():
    plain = drawn(perceptron()).predict(X)
    for table in (pd.DataFrame(X, columns=["u", "v"]), sparse.csr_array(X)):
        assert np.array_equal(drawn(perceptron(), data=(table, Y)).predict(table), plain)
    words = np.random.default_rng(0).integers(9, size=(48, 3))
    module = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 1))
    posterior = drawn(module, data=(words, Y))
    assert posterior.algorithm.stacked.whole
    assert not drawn(perceptron(inputs=3), data=(words, Y)).algorithm.stacked.whole


def test_vmap_and_one_by_one_give_the_same():
    algorithm, real = prepared(convolutions(), data=(IMAGES, Y))
    assert not algorithm.stacked.one_by_one
    alone = copy.copy(algorithm)
    alone.stacked = copy.copy(algorithm.stacked)
    object.__setattr__(alone.stacked, "one_by_one", True)
    streams = Seeds(0).streams(range(8), 0)
    both = [each.fit([real] * 8, streams.at(0)).parameters for each in (algorithm, alone)]
    np.testing.assert_allclose(*both, atol=2e-5)


def test_what_vmap_cannot_take_is_run_one_by_one():
    posterior = drawn(Recurrent())
    assert posterior.algorithm.stacked.one_by_one
    p = posterior.predict(X)
    assert p.std(axis=0).min() > 0
    more = drawn(Recurrent(), run={"n_draws": 9, "n_jobs": 2})
    assert np.array_equal(more.predict(X)[:3], p)


def test_fixed_parameters_stay_and_are_shared():
    module = perceptron()
    module[0].requires_grad_(False)
    posterior = drawn(module)
    assert posterior.models[0].parameters.shape == (9,)
    for draw in posterior.draws:
        assert torch.equal(draw.module[0].weight, module[0].weight)
    assert not torch.equal(posterior.draws[0].module[2].weight, posterior.draws[1].module[2].weight)


def test_double_precision():
    assert drawn(perceptron().double()).models[0].parameters.dtype == np.float64


# -- laws ------------------------------------------------------------------------------------------


def dropping():
    return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))


def test_nothing_of_the_user_or_of_pytorch_is_changed():
    module = dropping()
    before, state = copy.deepcopy(module.state_dict()), torch.get_rng_state()
    threads = torch.get_num_threads()
    drawn(module, run={"n_draws": 9, "n_jobs": 2})
    assert all(torch.equal(each, before[name]) for name, each in module.state_dict().items())
    assert all(each.grad is None for each in module.parameters())
    assert module.training
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("one_by_one", [False, True])
def test_layers_that_work_in_place_do_not_change_the_data(one_by_one):
    module = nn.Sequential(nn.ReLU(inplace=True), *perceptron())
    rows, before = X.astype(np.float32), X.astype(np.float32)
    rows.setflags(write=False)
    algorithm, _ = prepared(module, data=(rows, Y))
    object.__setattr__(algorithm.stacked, "one_by_one", one_by_one)
    parameters = algorithm.stacked.starts(np.arange(3))
    outputs = algorithm.stacked.outputs(parameters, rows)
    positive = algorithm.stacked.outputs(parameters, np.maximum(before, 0))
    np.testing.assert_allclose(outputs, positive, atol=1e-6)
    assert np.array_equal(rows, before)


def test_dropout_is_on_in_training_and_off_in_predictions():
    algorithm, real = prepared(dropping(), batch_size=None)
    assert algorithm.stacked.random
    streams = Seeds(0).streams(range(8), 0)
    first = algorithm.fit([real] * 8, streams.at(0))
    assert np.array_equal(algorithm.predict(first, X), algorithm.predict(first, X))
    without, real = prepared(nn.Sequential(*dropping()[:2], *dropping()[3:]), batch_size=None)
    other = without.fit([real] * 8, streams.at(0))
    assert not np.allclose(first.parameters, other.parameters)
    for draw in nb.martingale_posterior(algorithm, (X, Y), **RUN).draws:
        assert not draw.training


def test_draws_start_apart_or_where_the_module_is():
    algorithm, _ = prepared(perceptron())
    starts = algorithm.stacked.starts(np.array([1, 2, 1]))
    assert np.array_equal(starts[0], starts[2])
    assert (starts[0] != starts[1]).all()
    given, _ = prepared(perceptron(), start="given")
    assert np.array_equal(given._starts(np.zeros((2, 2), int))[1], given.stacked.given)


def test_parameters_that_are_not_drawn_are_named():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([[1.0], [2.0]]))

        def forward(self, x):
            return x @ self.weight

    with pytest.warns(UserWarning, match="all draws start at the same values of weight, as no"):
        drawn(Own())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn(Own(), start="given")


def test_early_stopping_chooses_the_passes_once():
    posterior = drawn(perceptron(), n_passes=None, max_passes=25, learning_rate=0.01)
    stopping = posterior.algorithm.stopping
    assert stopping.n_passes == stopping.passes[np.argmin(stopping.curve)] <= 25
    assert 0.05 < posterior.algorithm.noise < 1.1


def test_only_one_library_is_imported():
    """PyTorch modules do without JAX."""
    code = (
        "import sys, numpy as np, torch, nearbayes as nb\n"
        "from nearbayes.neural.torch_algorithm import TorchAlgorithm\n"
        "x = np.linspace(0, 1, 20)[:, None]\n"
        "algorithm = TorchAlgorithm(torch.nn.Linear(1, 1), n_passes=2)\n"
        "nb.martingale_posterior(algorithm, (x, np.sin(9 * x[:, 0])), n_draws=1)\n"
        "assert 'jax' not in sys.modules and 'equinox' not in sys.modules\n"
    )
    import subprocess

    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_a_module_is_not_saved(tmp_path):
    with pytest.raises(TypeError, match="draws of TorchAlgorithm cannot be saved"):
        drawn(perceptron()).save(tmp_path / "draws.nearbayes")


def test_left_over_predictions_are_kept():
    posterior = drawn(perceptron(), run={"predict_on": X[:5]})
    assert np.array_equal(posterior.predict(X[:5]), drawn(perceptron()).predict(X[:5]))


# -- what is refused -------------------------------------------------------------------------------


class Returning(nn.Module):
    """A perceptron whose outputs are changed by a function."""

    def __init__(self, change):
        super().__init__()
        self.inner, self.change = perceptron(), change

    def forward(self, x):
        return self.change(self, self.inner(x), x)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = perceptron()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.seen += len(x)
        return self.inner(x)


BAD_MODULES = {
    "nan": (Returning(lambda self, f, x: f / 0 * 0), "module returns NaN or infinity at the first"),
    "nan_somewhere": (
        Returning(lambda self, f, x: torch.where(x[:, :1] > 1.9, torch.nan, f)),
        r"module returns NaN or infinity at \d+ rows of X, the first of which is row",
    ),
    "batch_norm": (
        nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)),
        r"module has the batch norm layer '1' \(BatchNorm1d\).*GroupNorm or LayerNorm",
    ),
    "mixing": (Returning(lambda self, f, x: f - f.mean(0)), "outputs change with the other rows"),
    "mixing_in_training": (
        Returning(lambda self, f, x: f - f.mean(0) if self.training else f),
        "outputs change with the other rows",
    ),
    "buffers": (Counting(), "module changes its buffer 'seen' in training"),
    "random": (Returning(lambda self, f, x: f + torch.rand(1)), "random numbers in eval mode"),
    "detached": (Returning(lambda self, f, x: f.detach()), "module must be differentiable"),
    "lazy": (nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 1)), "the lazy parameter '0.weight'"),
    "fixed": (perceptron().requires_grad_(False), "module must have parameters to train"),
    "half": (perceptron().half(), "parameters of type float32 or float64, got torch.float16"),
    "other_shape": (perceptron(inputs=5), r"module fails at the first two rows of X, of shape \(2"),
    "tuple": (Returning(lambda self, f, x: (f, f)), r"a tensor of shape .*, got tuple for 2 rows"),
    "outputs": (perceptron(3), "one output per column of y, got 3 outputs for 1"),
}


@pytest.mark.parametrize("name", BAD_MODULES)
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_modules_that_cannot_work_are_refused_in_one_sentence(name):
    module, message = BAD_MODULES[name]
    with pytest.raises(ValueError, match=message):
        drawn(module)


BAD_LOSSES = {
    "class_weights": (
        nn.CrossEntropyLoss(weight=torch.ones(2)),
        {},
        "labels would be imputed from",
    ),
    "positive_weight": (nn.BCEWithLogitsLoss(pos_weight=torch.ones(1)), {}, "pos_weight of BCE"),
    "smoothing": (nn.CrossEntropyLoss(label_smoothing=0.1), {}, "label_smoothing must be 0, got"),
    "not_log": (nn.PoissonNLLLoss(log_input=False), {}, "log_input of PoissonNLLLoss must be True"),
    "name": ("hinge", {}, "loss must be one of 'squared', 'cross_entropy', 'poisson', a loss"),
    "no_sample": (quartic, {}, "needs sample=, a function"),
    "two_samples": ("squared", {"sample": laplace}, "sample and predicted are for your"),
    "not_convex": (
        lambda f, y: torch.sin(f - y).sum(),
        {"sample": laplace},
        "loss must be convex in the network's output, but its second derivative is -",
    ),
    "unbounded": (lambda f, y: (f * y).sum(), {"sample": laplace}, "loss must be bounded below"),
    "batch": (lambda f, y: (f - y) ** 2, {"sample": laplace}, "must return one number for a row"),
}


@pytest.mark.parametrize("name", BAD_LOSSES)
def test_losses_that_cannot_work_are_refused_in_one_sentence(name):
    loss, settings, message = BAD_LOSSES[name]
    with pytest.raises(ValueError, match=message):
        drawn(perceptron(), loss, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0}, "learning_rate must be a positive number, got 0"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or more"),
        ({"batch_size": 0}, "batch_size must be a whole number, 1 or more, got 0"),
        ({"max_passes": None}, "max_passes must be a whole number"),
        ({"n_passes": 2.5}, "n_passes must be a whole number"),
        ({"start": "warm"}, "start must be 'random' or 'given', got 'warm'"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        TorchAlgorithm(perceptron(), **settings)


@pytest.mark.parametrize(
    ("data", "loss", "message"),
    [
        ((X[:1], Y[:1]), "squared", "a posterior needs at least 2 rows, got n_samples=1"),
        ((X, np.ones(48)), "squared", r"y is constant \(1 in every row\)"),
        ((X, LABELS), "squared", "y must be numbers for Squared loss, got type"),
        ((np.where(X > 1.9, np.nan, X), Y), "squared", "X contains NaN or infinity"),
        ((X.astype(str), Y), "squared", "X must have numbers for a PyTorch module, got type"),
        ((X, np.full(48, "up")), "cross_entropy", "y has only one class"),
        ((X, np.arange(48) % 3), "cross_entropy", "one output per class, got 1 outputs for 3"),
    ],
)
def test_bad_data_is_refused_in_one_sentence(data, loss, message):
    with pytest.raises(ValueError, match=message):
        drawn(perceptron(), loss, data)


def test_classes_are_named_in_the_order_of_the_outputs():
    labels = np.where(LABELS == "up", "z", "b")
    named = {"classes": ["z", "b", "a"], "loss": "cross_entropy", "n_passes": 40}
    posterior = drawn(perceptron(3), data=(X, labels), learning_rate=0.03, **named)
    p = posterior.predict(X).mean(axis=0)
    assert p[labels == "z", 0].mean() > 0.6 > p[labels == "b", 0].mean()
    assert p[:, 2].max() < 0.3  # there is no a
    with pytest.raises(ValueError, match="classes must name every class of y, got none for 'z'"):
        drawn(perceptron(2), "cross_entropy", (X, labels), classes=["a", "b"])


def test_what_is_not_a_module_or_a_loss():
    with pytest.raises(TypeError, match=r"module must be a torch.nn.Module, got 3"):
        TorchAlgorithm(3)
    with pytest.raises(TypeError, match="or a function loss"):
        TorchAlgorithm(perceptron(), nn.MSELoss)
    with pytest.raises(ValueError, match=r"data must be a pair \(X, y\)"):
        nb.martingale_posterior(TorchAlgorithm(perceptron()), Y)


class Bursting(nn.Module):
    """Outputs beyond all numbers in training, for draws whose first weight is positive."""

    def __init__(self, when):
        super().__init__()
        self.inner, self.when = perceptron(), when

    def forward(self, x):
        burst = self.when(self.inner[0].weight[0, 0]) & self.training
        return torch.where(burst, torch.inf, 1.0) * self.inner(x)


def test_a_draw_that_diverges_is_tried_again_and_never_returned():
    stable, real = prepared(perceptron(), start="random")
    algorithm = copy.copy(stable)
    algorithm.stacked = copy.copy(stable.stacked)
    object.__setattr__(algorithm.stacked, "module", Bursting(lambda weight: weight > 0.2))
    streams = Seeds(0).streams(range(8), 0)
    seeds = np.array([rng.integers(2**62) for rng in streams.at(0)])
    first, second = (algorithm.stacked.starts(seeds + k)[:, 0] > 0.2 for k in (0, 1))
    assert (first & ~second).any()  # some are saved by another seed
    assert (first & second).any()  # and some are not
    with pytest.raises(nb.core.protocols.DrawsFailedError) as caught:
        algorithm.fit([real] * 8, streams.at(0))
    assert set(caught.value.errors) == set(np.flatnonzero(first & second).tolist())
    assert "training diverged, also with another seed: lower learning_rate" in str(caught.value)


def test_training_that_diverges_at_once_is_said():
    with pytest.raises(FloatingPointError, match="training diverged at once: lower learning_rate"):
        drawn(perceptron(), learning_rate=1e30)


def test_examples_of_rows_are_padded_alike():
    data = nb.Data.of(X, Y[:, None])
    found = examples_of([data, data], np.asarray, 60, 1)
    assert found.x.shape == (60, 2)
    assert found.weight.sum(axis=1).tolist() == [48, 48]
    assert Fits.begin(np.zeros((2, 3))).step_sizes().shape == (2, 3)
