"""Synthetic causal models: graphs, moments of the truth, and interventions."""

import numpy as np
import pytest
from experiments.causal_synthetic.scms import SCMS

N = 400_000
GRAPHS = {
    "chain": {"x1": (), "x2": ("x1",), "x3": ("x2",)},
    "triangle": {"x1": (), "x2": ("x1",), "x3": ("x1", "x2")},
    "diamond": {"x1": (), "x2": ("x1",), "x3": ("x1", "x2"), "x4": ("x2", "x3")},
    "y": {"x1": (), "x2": (), "x3": ("x1", "x2"), "x4": ("x3",)},
}
# mean, sd, and quantiles at .1, .5 and .9 of independent code with 2,000,000 draws
TABLE = {
    ("chain-nonlin", "x2"): (1.744, 1.006, 0.668, 1.578, 3.010),
    ("chain-nonlin", "x3"): (-1.345, 1.009, -2.681, -1.270, -0.118),
    ("chain-na", "x2"): (1.391, 0.990, 0.268, 1.126, 2.986),
    ("chain-na", "x3"): (1.420, 0.973, 0.625, 1.083, 2.693),
    ("triangle-nonlin", "x2"): (0.666, 1.001, -0.208, 0.406, 1.860),
    ("triangle-nonlin", "x3"): (5.155, 1.796, 2.991, 4.862, 7.976),
    ("triangle-na", "x2"): (0.0, 0.988, -1.138, 0.0, 1.138),
    ("triangle-na", "x3"): (0.580, 1.420, 0.003, 0.121, 1.499),
    ("diamond-nonlin", "x2"): (0.667, 1.001, -0.209, 0.406, 1.861),
    ("diamond-nonlin", "x3"): (0.352, 3.537, -1.174, -0.462, 2.039),
    ("diamond-nonlin", "x4"): (-0.630, 1.067, -1.880, -0.814, 0.924),
    ("diamond-na", "x2"): (1.405, 0.997, 0.279, 1.230, 2.772),
    ("diamond-na", "x3"): (4.216, 1.139, 2.668, 4.196, 5.799),
    ("diamond-na", "x4"): (-1.978, 0.850, -2.735, -2.292, -0.723),
    ("y-nonlin", "x3"): (0.547, 0.999, -0.661, 0.712, 1.589),
    ("y-nonlin", "x4"): (3.200, 0.994, 1.769, 3.502, 4.036),
    ("y-na", "x3"): (-0.696, 1.000, -1.945, -0.492, 0.229),
    ("y-na", "x4"): (1.508, 1.010, 0.491, 1.207, 3.073),
}
ROUNDED = 0.0005  # half a digit of the table
HEAVY = ("diamond-nonlin", "x3")  # about x1 ** 4: N draws do not tell the error of its sd


@pytest.fixture(scope="module")
def columns():
    samples = {name: scm.sample(N, np.random.default_rng(3)) for name, scm in SCMS.items()}
    return {
        (name, node): samples[name][:, SCMS[name].column(node)]
        for name, scm in SCMS.items()
        for node in scm.nodes
    }


def error(sd):
    """Four standard errors of a difference from the table, whose own draws are five times N."""
    return ROUNDED + 4 * sd * np.sqrt(1.2 / N)


def test_the_table_has_every_node_that_is_no_root():
    assert set(TABLE) == {
        (name, node) for name, scm in SCMS.items() for node in scm.nodes if scm.graph[node]
    }


@pytest.mark.parametrize("name", SCMS)
def test_graphs(name):
    scm = SCMS[name]
    assert scm.graph == GRAPHS[name.partition("-")[0]]
    assert scm.nodes == tuple(scm.graph)
    assert set(scm.edges) == {(parent, node) for node in scm.graph for parent in scm.graph[node]}


@pytest.mark.parametrize("key", TABLE, ids="-".join)
def test_means_and_sds(key, columns):
    x = columns[key]
    mean, sd, *_ = TABLE[key]
    squares = (x - x.mean()) ** 2
    assert x.mean() == pytest.approx(mean, abs=error(x.std()))
    if key != HEAVY:  # the error of an sd is that of the variance over 2 sd
        assert x.std() == pytest.approx(sd, abs=error(squares.std() / (2 * x.std())))


@pytest.mark.parametrize("key", TABLE, ids="-".join)
def test_quantiles(key, columns):
    """On the scale of levels, where the error is binomial and needs no density."""
    x = np.sort(columns[key])
    for level, quantile in zip((0.1, 0.5, 0.9), TABLE[key][2:], strict=True):
        slack = 4 * np.sqrt(1.2 * level * (1 - level) / N)
        low, high = np.searchsorted(x, [quantile - ROUNDED, quantile + ROUNDED]) / N
        assert low - slack <= level <= high + slack


@pytest.mark.parametrize("name", SCMS)
def test_roots_are_standard_normal_numbers(name, columns):
    for node, parents in SCMS[name].graph.items():
        if not parents:
            x = columns[name, node]
            assert x.mean() == pytest.approx(0, abs=4 / np.sqrt(N))
            assert x.std() == pytest.approx(1, abs=4 / np.sqrt(2 * N))


@pytest.mark.parametrize("name", SCMS)
def test_an_intervention_changes_descendants_alone(name):
    scm = SCMS[name]
    for node in scm.nodes:
        free = scm.sample(200, np.random.default_rng(0))
        forced = scm.sample(200, np.random.default_rng(0), do={node: 0.7})
        assert (forced[:, scm.column(node)] == 0.7).all()
        changed = {other for other in scm.nodes if (free != forced)[:, scm.column(other)].any()}
        assert changed == {node, *scm.descendants(node)}


@pytest.mark.parametrize("name", SCMS)
def test_an_intervention_cuts_the_parents(name):
    """A set node keeps nothing of its parents: other parents, the same children."""
    scm = SCMS[name]
    last = scm.nodes[-1]
    do = dict.fromkeys(scm.graph[last], 0.7)
    others = [node for node in scm.nodes if node != last and node not in do]
    free = scm.sample(200, np.random.default_rng(0), do)
    forced = scm.sample(200, np.random.default_rng(0), {**do, **dict.fromkeys(others, 2.0)})
    assert (free[:, -1] == forced[:, -1]).all()


def test_a_node_can_be_set_row_by_row():
    rng = np.random.default_rng(0)
    values = np.array([0.0, 1.0, 2.0])
    assert (SCMS["y-na"].sample(3, rng, do={"x3": values})[:, 2] == values).all()


def test_an_unknown_node_is_refused():
    with pytest.raises(ValueError, match="do must name nodes of chain-na"):
        SCMS["chain-na"].sample(3, np.random.default_rng(0), do={"x9": 0.0})


def test_a_value_off_the_domain_is_nan():
    values = SCMS["chain-na"].sample(100, np.random.default_rng(0), do={"x2": -0.5})[:, 2]
    assert np.isnan(values).any()
