"""Causal commands: from a file and a graph to effects, counterfactuals and a report."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import csv_of, fitted, refused, table, text_file

import nearbayes as nb
from nearbayes.cli import causal_commands
from nearbayes.cli.app import run
from nearbayes.cli.edges import graph_of
from nearbayes.cli.errors import UsageError

N = 120
GRAPH = "age -> dose, age -> outcome; dose -> outcome -> relapse, ward→outcome"
QUICK = ("--model", "linear", "--draws", "20", "--refits", "2")


def people(n=N):
    """The dose raises the outcome by 2 per unit; "ill" is 0 or 1, "visits" a count."""
    rng = np.random.default_rng(0)
    age, ward = rng.normal(50, 10, n), rng.choice(["east", "west"], n)
    dose = 0.05 * age + rng.normal(size=n)
    outcome = 2 * dose - 0.1 * age + (ward == "west") + 0.5 * rng.normal(size=n)
    relapse = np.where(outcome + rng.normal(size=n) > 0, "yes", "no")
    frame = {"age": age, "dose": dose, "outcome": outcome, "relapse": relapse, "ward": ward}
    ill, visits = (outcome > 0) * 1, rng.poisson(np.exp(0.5 * (outcome > 0)))
    return pd.DataFrame({**frame, "ill": ill, "visits": visits})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("causal")


@pytest.fixture(scope="module")
def data(folder):
    return csv_of(folder, people())


@pytest.fixture(scope="module")
def model(folder, data):
    path = folder / "c.nearbayes"
    assert run(["causal", "fit", str(data), "--graph", GRAPH, "-o", str(path), *QUICK, "-q"]) == 0
    return path


def answered(capsys, *arguments):
    """The one JSON object that a command prints."""
    capsys.readouterr()
    assert run([*map(str, arguments), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_fit_says_what_it_did(tmp_path, capsys, data, model):
    edges = text_file(tmp_path, "# who causes whom\nage -> dose\n\ndose->outcome\n", "graph.txt")
    path = tmp_path / "c.nearbayes"
    found = answered(capsys, "causal", "fit", data, "--graph", edges, "-o", path, *QUICK)
    assert found["edges"] == [["age", "dose"], ["dose", "outcome"]]
    assert (found["rows"], found["rows_left_out"], found["draws"]) == (N, 0, 20)
    assert found["bytes"] == path.stat().st_size
    assert run(["causal", "fit", str(data), "--graph", "ward->ill", "-o", str(path), *QUICK]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "next: nearbayes causal report" in said
    assert nb.load(path).variables_["ill"].categories == ("0", "1")  # and the file was replaced


def test_answers_are_those_of_python(capsys, model):
    ask = ("causal", "query", model, "--outcome", "outcome", "--do", "dose=3", "--coverage", 0.8)
    found = answered(capsys, *ask, "--versus", "dose=2")
    loaded = nb.load(model)
    effect = loaded.effect("outcome", {"dose": 3.0}, {"dose": 2.0})
    rows = found["table"]
    assert rows["quantity"][-1] == "difference in mean of outcome"
    assert rows["estimate"][-1] == float(effect.mean) == pytest.approx(2, abs=0.3)
    assert [rows["lower"][-1], rows["upper"][-1]] == effect.interval(0.8).tolist()
    assert rows["estimate"][0] == float(loaded.interventional_mean("outcome", {"dose": 3.0}).mean)
    assert found["notes"] == []
    more = answered(
        capsys, *ask[:-4], "--do", "dose+=0.5", "--given", "age=55:", "--given", "ward=west"
    )
    up = {"dose": lambda dose: dose + 0.5}
    old = loaded.effect("outcome", up, given={"age": (55, 1e9), "ward": "west"})
    assert more["table"]["estimate"] == [float(old.mean)]
    assert more["given"] == "age = 55: and ward = west"


def test_probabilities_of_categories(capsys, model):
    ask = ("causal", "query", model, "--do", "ward=west", "--do", "dose=2")
    found = answered(capsys, *ask, "--outcome", "relapse")["table"]
    assert found["quantity"][1] == "P(relapse = yes) if ward = west and dose = 2"
    assert sum(found["estimate"][:2]) == pytest.approx(1)
    assert found["estimate"][4] == pytest.approx(-found["estimate"][5])


@pytest.mark.parametrize(
    ("do", "outcome", "says"),
    [
        ("dose=90", "outcome", "'dose' is set outside the data for 100% of the rows"),
        ("dose*=3", "outcome", "outside the data for"),
        ("outcome=0", "dose", "no path from 'outcome' to 'dose'"),
    ],
)
def test_doubtful_answers_have_a_note(capsys, model, do, outcome, says):
    assert run(["causal", "query", str(model), "--do", do, "--outcome", outcome]) == 0
    said = capsys.readouterr().out
    assert f"note: {'the graph has ' if 'path' in says else ''}" in said
    assert says in said
    assert "if the graph is right" in said


def test_counts_have_means_between_whole_numbers(tmp_path, capsys, data):
    path = tmp_path / "c.nearbayes"
    answered(capsys, "causal", "fit", data, "--graph", "ill->visits", "-o", path, *QUICK)
    ask = ("causal", "query", path, "--do", "ill=1", "--versus", "ill=0", "--outcome", "visits")
    found = answered(capsys, *ask, "--coverage", 0.99)["table"]
    means = people().groupby("ill")["visits"].mean()
    assert found["lower"][2] < means[1] - means[0] < found["upper"][2]
    assert found["lower"][2] < found["upper"][2]


def test_counterfactual(tmp_path, capsys, data, model):
    ask = ("causal", "counterfactual", model, data, "--do", "dose=2", "-o", tmp_path / "out.csv")
    assert answered(capsys, *ask, "--outcome", "outcome")["rows"] == N
    written = pd.read_csv(tmp_path / "out.csv", float_precision="round_trip")
    values = nb.load(model).counterfactual(people(), {"dose": 2.0})["outcome"]
    np.testing.assert_allclose(written["counterfactual"], values.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(written["observed"], people()["outcome"])
    assert (written["lower"] <= written["upper"]).all()
    answered(capsys, *ask, "--outcome", "relapse")
    written = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(written["P(no)"] + written["P(yes)"], 1)
    assert set(written["counterfactual"]) <= {"yes", "no"}


def test_report(tmp_path, capsys, model):
    page = tmp_path / "page.html"
    found = answered(capsys, "causal", "report", model, "-o", page, "--title", "Our <graph>")
    assert found == {"output": str(page), "bytes": page.stat().st_size}
    assert "Our &lt;graph&gt;" in page.read_text()


def test_models_of_python_can_be_asked(tmp_path, capsys):
    frame = people().assign(yes=people()["ill"] == 1)
    settings = {"models": "linear", "n_draws": 5, "n_refits": 1, "random_state": 0}
    made = nb.causal.SCM([("yes", "dose=1"), ("age", "dose=1")], progress=False, **settings)
    path = made.fit(frame.rename(columns={"dose": "dose=1"})).save(tmp_path / "m.nearbayes")
    ask = ("causal", "query", path, "--outcome", "dose=1", "--versus", "yes=False")
    found = answered(capsys, *ask, "--do", "yes=True")["table"]
    effect = made.effect("dose=1", {"yes": True}, {"yes": False})
    assert found["estimate"][-1] == float(effect.mean)
    named = made.fit(frame.rename(columns={"dose": "dose=1"}))
    assert named.graph_.nodes == ("yes", "age", "dose=1")


def test_ctrl_c_keeps_the_finished_draws(tmp_path, capsys, monkeypatch, data):
    real = nb.causal.SCM.fit

    def fit_until_stopped(self, rows):
        real(self, rows)
        source = self.posterior_.provenance
        object.__setattr__(source, "interrupted", True)
        return self

    monkeypatch.setattr(nb.causal.SCM, "fit", fit_until_stopped)
    path = tmp_path / "c.nearbayes"
    ask = ["causal", "fit", str(data), "--graph", "age->dose", "-o", str(path), *QUICK, "-q"]
    assert run(ask) == 1
    assert f"20 of 20 draws are in {path}, which can be used" in capsys.readouterr().err
    assert causal_commands.read_causal(path).graph_.nodes == ("age", "dose")


# -- bad input ----------------------------------------------------------------------------------

BAD_GRAPHS = {
    "cycle": ("age->dose->age", "graph has a cycle, age -> dose -> age"),
    "loop": ("age->age", "graph has a cycle"),
    "no arrow": ("age,dose", "must be edges such as 'age->dose, dose->outcome', or a file"),
    "no such file": ("nowhere.txt", "got 'nowhere.txt', which is neither"),
    "half an edge": ("age->dose, ->outcome", "such as 'dose->outcome', got '->outcome'"),
    "a name alone": ("age->dose, ward", "got 'ward'"),
    "shell": ("age-", "put quotes around the edges"),
    "unknown column": ("age->height", "no column 'height', which is a node of the graph; its col"),
}


@pytest.mark.parametrize(("graph", "says"), BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_bad_graphs(tmp_path, capsys, data, graph, says):
    path = tmp_path / "c.nearbayes"
    refused(capsys, "causal", "fit", data, "--graph", graph, "-o", path, *QUICK, says=says)
    assert not path.exists()


def test_bad_graph_files(tmp_path):
    with pytest.raises(UsageError, match="graph has no edges"):
        graph_of(str(text_file(tmp_path, "# nothing\n", "g.txt")))
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(UsageError, match="cannot be read as text"):
        graph_of(str(tmp_path / "b.txt"))
    names = graph_of(str(text_file(tmp_path, "a, b -> c; d", "n.txt"))).nodes
    assert names == ("a, b", "c; d")
    assert graph_of(",".join(f"node{k}->node{k + 1}" for k in range(500))).nodes[-1] == "node500"


BAD_COLUMNS = {
    "missing": ({"dose": [None, *range(N - 1)]}, "'dose' has 1 missing values in 120 rows"),
    "word for missing": ({"dose": ["NA", *range(N - 1)]}, "leave out such rows with --drop-miss"),
    "constant": ({"dose": 3.5}, "only one value in 'dose'"),
    "constant text": ({"dose": "high"}, "only one value in 'dose'"),
    "text": ({"dose": [f"name {k}" for k in range(N)]}, "'dose' holds 120 different texts in 120"),
    "some text": ({"dose": ["5 mg", *range(N - 1)]}, "holds numbers, but '5 mg' in row 1"),
    "infinite": ({"dose": ["inf", *range(N - 1)]}, "holds numbers, but 'inf' in row 1"),
    "huge": ({"dose": [1e300, -1e300] * (N // 2 - 1) + [1.0, 2.0]}, "extreme size in 'dose'"),
    "dates": ({"dose": pd.date_range("2024-01-01", periods=N).astype(str)}, "'dose' holds dates"),
}


@pytest.mark.parametrize(("change", "says"), BAD_COLUMNS.values(), ids=BAD_COLUMNS)
def test_bad_columns(tmp_path, capsys, change, says):
    data = csv_of(tmp_path, people().assign(**change))
    path = tmp_path / "c.nearbayes"
    refused(capsys, "causal", "fit", data, "--graph", GRAPH, "-o", path, *QUICK, says=says)
    assert not path.exists()


def test_rows_with_missing_values_can_be_left_out(tmp_path, capsys):
    frame = people()
    frame.loc[:9, "dose"] = np.nan
    frame.loc[5:14, "ward"] = None
    fit = ("causal", "fit", csv_of(tmp_path, frame), "--graph", GRAPH, *QUICK)
    found = answered(capsys, *fit, "-o", tmp_path / "c.nearbayes", "--drop-missing")
    assert (found["rows"], found["rows_left_out"]) == (N - 15, 15)
    few = csv_of(tmp_path, frame[:30], "few.csv")
    says = "at least 20 rows are needed, got 15 after 15 with missing values are left out"
    refused(capsys, "causal", "fit", few, *fit[3:], "--drop-missing", says=says)


def test_few_rows_and_other_bad_fits(tmp_path, capsys, data, model):
    fit = ("--graph", "age->dose", *QUICK)
    few = csv_of(tmp_path, people(19), "few.csv")
    refused(capsys, "causal", "fit", few, *fit, says="at least 20 rows are needed, got 19.")
    refused(capsys, "causal", "fit", "no.csv", *fit, says="no.csv does not exist")
    refused(capsys, "causal", "fit", data, *fit, "-o", data, says="was not written by nearbayes c")
    refused(capsys, "causal", "fit", data, *fit, "--category", "x", says="must be a node of --gra")
    drawn = csv_of(tmp_path, people().rename(columns={"age": "draw"}))
    refused(capsys, "causal", "fit", drawn, "--graph", "draw->dose", says="has the node 'draw'")


BAD_QUESTIONS = {
    "unknown node": (("--do", "height=1"), "--do must name a node, one of 'age', 'ward'"),
    "unknown shifted": (("--do", "height+=1"), "got 'height'"),
    "no value": (("--do", "dose"), "--do must be a node and a value, such as dose=1"),
    "empty value": (("--do", "dose="), "--do must be a node and a value, such as dose=1"),
    "no number": (("--do", "dose=much"), "--do must have a number for 'dose', got 'much'"),
    "two at once": (("--do", "dose=1,age=2"), "several nodes need one --do each"),
    "infinite": (("--do", "dose=inf"), "must have a number for 'dose', got 'inf'"),
    "twice": (("--do", "dose=1", "--do", "dose=2"), "--do has 'dose' twice"),
    "no category": (("--do", "ward=north"), "one of 'east', 'west' for 'ward', got 'north'"),
    "added to text": (("--do", "ward+=1"), "cannot add to 'ward'"),
    "outcome": (("--do", "outcome=1"), "--outcome outcome is what --do changes"),
    "versus": (("--do", "age=50", "--versus", "outcome=1"), "is what --versus changes"),
    "bad versus": (("--do", "age=50", "--versus", "x=1"), "--versus must name a node"),
    "given one": (("--do", "dose=1", "--given", "age=50"), "must have a range for 'age', such as"),
    "given back": (("--do", "dose=1", "--given", "age=60:40"), "which ends before it starts"),
    "given none": (("--do", "dose=1", "--given", "age=900:"), "--given: given has no rows"),
    "given changed": (("--do", "age=50", "--given", "dose=1:2"), "which the intervention changes"),
    "given sign": (("--do", "age=50", "--given", "ward+=1"), "one value or range per node"),
    "coverage": (("--do", "age=50", "--coverage", "2"), "--coverage must be between 0 and 1"),
}


@pytest.mark.parametrize(("options", "says"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_bad_questions(capsys, model, options, says):
    refused(capsys, "causal", "query", model, "--outcome", "outcome", *options, says=says)


def test_bad_outcomes_and_files(tmp_path, capsys, data, model):
    ask = ("--do", "dose=1", "--outcome")
    refused(capsys, "causal", "query", model, *ask, "height", says="--outcome must be a node, one")
    refused(capsys, "causal", "query", model, "--outcome", "dose", says="Missing option '--do'")
    nowhere = tmp_path / "no.nearbayes"
    for command in (("query", nowhere, *ask, "outcome"), ("report", nowhere)):
        refused(capsys, "causal", *command, says="does not exist: create it with nearbayes causal")
    refused(capsys, "causal", "report", data, says="nearbayes")
    refused(capsys, "causal", "report", model, "-o", tmp_path, says="is a folder")
    plain = fitted(csv_of(tmp_path, table()), tmp_path / "m.nearbayes")
    refused(capsys, "causal", "report", plain, says="holds a PosteriorRegressor, not a causal mod")
    refused(capsys, "report", model, says="holds a causal model: use nearbayes causal query")


BAD_ROWS = {
    "column": (people(3).drop(columns="age"), "no column 'age'"),
    "missing": (people(3).assign(age=[1, None, 2]), "'age' has a missing value in row 2"),
    "text": (people(3).assign(age=["a", 1, 2]), "'a' in row 1, but must have a number"),
    "category": (people(3).assign(ward="south"), "'south' in row 1, but must have 'east', 'west'"),
}


@pytest.mark.parametrize(("rows", "says"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows(tmp_path, capsys, model, rows, says):
    ask = ("--do", "dose=1", "--outcome", "outcome", "-o", tmp_path / "out.csv")
    data = csv_of(tmp_path, rows)
    refused(capsys, "causal", "counterfactual", model, data, *ask, says=says)
