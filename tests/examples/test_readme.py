"""Every example and every command of the README runs; ``make`` ones are run by ``.ci/run``."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nearbayes.cli.app import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def listings(language):
    """Listings of the README in this language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150


def test_what_the_readme_links_to_is_there():
    linked = re.findall(r"\]\(([^)#:]+)\)|(?:src|srcset)=\"([^\"]+)\"", README)
    paths = {first or second for first, second in linked}
    assert {"docs/demo.png", "docs/demo_dark.png", "docs/results.md"} <= paths
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert missing == []


def test_the_code_of_the_readme_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes files
    blocks = listings("python")
    assert len(blocks) == 2
    names = {}
    exec(blocks[0].replace("n_draws=50, n_jobs=-1", "n_draws=3"), names)
    assert len(names["model"].posterior_) == 3
    exec(blocks[1], names)
    said = capsys.readouterr().out
    assert "How far off is it?" in said
    assert "had not seen" in said
    loaded = names["nb"].load(tmp_path / "model.nearbayes")
    assert np.array_equal(loaded.predict(names["X"]), names["reg"].predict(names["X"]))


def test_classes_that_the_readme_names_exist():
    import nearbayes as nb

    for dotted in set(re.findall(r"`nb((?:\.\w+)+)", README)):
        found = nb
        for part in dotted.strip(".").split("."):
            try:
                found = getattr(found, part)
            except ModuleNotFoundError as error:
                if error.name != "torch":  # all others come with the setup
                    raise
                break


def commands(program):
    """Arguments of every line of the README's listings that calls this program."""
    lines = re.findall(rf"^{program} (.*)$", "\n".join(listings("")), flags=re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the README's commands name."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 90), "ward": rng.choice(["east", "west"], 90)})
    frame["outcome"] = np.where(frame["age"] + 9 * rng.normal(size=90) > 50, "sick", "well")
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.drop(columns="outcome").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The last of two equal options counts.
SMALLER = {
    "fit": ["--draws", "10", "--time-budget", "5s"],
    "compare": ["--draws", "4", "--folds", "2"],
}


def test_the_commands_of_the_readme_run(folder, capsys):
    found = commands("nearbayes")
    assert [words[0] for words in found] == [
        "fit",
        "predict",
        "explain",
        "diagnose",
        "report",
        "compare",
    ]
    for words in found:
        assert run([*words, *SMALLER.get(words[0], [])]) == 0, words
        assert capsys.readouterr().err == ""
    predictions = pd.read_csv(folder / "predictions.csv")
    assert len(predictions) == 90
    assert (predictions["P(sick) lower"] <= predictions["P(sick) upper"]).all()
    assert (folder / "report.html").stat().st_size > 20_000
