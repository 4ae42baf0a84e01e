import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from experiments.runner.checkout import Checkout
from experiments.runner.command_line import run_once_or_report, run_or_report
from experiments.runner.provenance import versions
from experiments.runner.records import Records, Unit


@dataclass(frozen=True)
class Toy:
    data_sets: tuple[str, ...] = ("a", "b")
    measured: tuple[str, ...] = ("first",)
    n_splits: int = 1
    n_draws: int = 3
    data_dir: Path = Path()

    @property
    def settings(self):
        return {"n_draws": self.n_draws}

    @property
    def units(self):
        return [Unit(name, 0) for name in self.data_sets]

    def methods(self, unit):
        return self.measured

    def measure(self, unit, method, done):
        return {"value": self.n_draws}

    def data_hash(self, unit):
        return unit.data_set


@pytest.fixture(params=["replications", "once"])
def command(request, monkeypatch, tmp_path):
    """Call an experiment as its command line does; give what it kept and what it reported."""
    reported = []

    def call(*arguments):
        words = ["experiment", *arguments, "--results", str(tmp_path / "results")]
        monkeypatch.setattr(sys, "argv", words)
        if request.param == "replications":
            run_or_report("", Toy(), tmp_path, lambda records, _: reported.extend(records))
            return list(Records(tmp_path / "results" / "records.jsonl")), reported
        kept = tmp_path / "results" / "kept.json"
        run_once_or_report(
            *("", tmp_path / "kept.json"),
            lambda options: {"value": options.draws, "data": "hash"},
            lambda record, _: reported.append(record),
            draws=3,
        )
        return [json.loads(kept.read_text())], reported

    return call


@pytest.fixture
def changed(monkeypatch):
    monkeypatch.setattr(Checkout, "objection", lambda self, since="HEAD": "code.py changed.")


@pytest.fixture
def unchanged(monkeypatch):
    monkeypatch.setattr(Checkout, "objection", lambda self, since="HEAD": "")


@pytest.mark.usefixtures("changed")
def test_a_changed_tree_is_refused_before_anything_is_written(command, tmp_path):
    with pytest.raises(SystemExit, match=r"code\.py changed"):
        command("run")
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("changed")
def test_changes_can_be_allowed_and_mark_the_records(command):
    records, _ = command("run", "--allow-changes")
    assert {each["value"] for each in records} == {3}
    assert all(each["commit"].endswith("+") for each in records)


@pytest.mark.usefixtures("unchanged")
def test_records_are_stamped_and_reported(command, tmp_path):
    records, _ = command("run", "--draws", "5")
    for record in records:
        assert not record["commit"].endswith("+")
        assert record["data"]
        environments = json.loads((tmp_path / "results" / "environments.json").read_text())
        assert environments[record["environment"]] == versions()
        settings = json.loads((tmp_path / "results" / "full_settings.json").read_text())
        assert 5 in settings[record["settings"]].values()
    assert command("tables", "--draws", "5") == (records, records)


@pytest.mark.usefixtures("changed")
def test_tables_need_no_commit(command):
    records, _ = command("run", "--allow-changes")
    assert command("tables")[1] == records
