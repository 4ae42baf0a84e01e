import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from experiments.coverage.experiment import Coverage
from experiments.runner.provenance import versions
from experiments.runner.records import Unit
from experiments.runner.run import Runner

ROOT = Path(__file__).parents[2]
KEYS = ("environment", "settings")


@dataclass(frozen=True)
class Toy:
    """Measures its own name, and fails where it is told to."""

    n_splits: int = 2
    fails: tuple[str, ...] = ()
    pause: float = 0.0
    log: str | None = None

    @property
    def settings(self):
        return {"pause": self.pause}

    @property
    def units(self):
        return [Unit(name, split) for split in range(self.n_splits) for name in ("a", "b")]

    def methods(self, unit):
        return ("first", "second", "third")

    def measure(self, unit, method, done):
        time.sleep(self.pause)
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{unit} {method}\n")
        if method in self.fails:
            raise ValueError(f"{method} cannot be measured")
        return {"value": len(done)}

    def data_hash(self, unit):
        return f"hash of {unit.data_set}"


def kept(runner, name):
    return json.loads((runner.folder / f"{name}.json").read_text())


def keys(runner):
    return {(each["data_set"], each["split"], each["method"]) for each in runner.records}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_everything_is_measured_once(tmp_path, n_jobs):
    runner = Runner(Toy(), tmp_path, n_jobs)
    assert runner.run() == 0
    assert len(list(runner.records)) == len(keys(runner)) == 2 * 2 * 3


def test_methods_see_the_records_of_those_before(tmp_path):
    runner = Runner(Toy(1), tmp_path)
    runner.run()
    values = {each["method"]: each["value"] for each in runner.records}
    assert values == {"first": 0, "second": 1, "third": 2}


def test_what_is_done_is_skipped(tmp_path):
    log = tmp_path / "log"
    Runner(Toy(1, log=str(log)), tmp_path / "out").run()
    runner = Runner(Toy(2, log=str(log)), tmp_path / "out")
    runner.run()
    assert len(log.read_text().splitlines()) == len(keys(runner)) == 12


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_records_say_what_it_takes_to_measure_them_again(tmp_path, repository, n_jobs):
    runner = Runner(Toy(1), tmp_path / "results", n_jobs, repository)
    runner.run()
    records = list(runner.records)
    assert {each["commit"] for each in records} == {repository.commit}
    assert {each["data"] for each in records} == {"hash of a", "hash of b"}
    (environment,), (settings,) = ({each[key] for each in records} for key in KEYS)
    assert kept(runner, "environments")[environment] == versions()
    given = {"experiment": "Toy", "n_splits": 1, "pause": 0.0, "n_jobs": n_jobs}
    assert given.items() <= kept(runner, "full_settings")[settings].items()


def test_every_settings_is_kept_once(tmp_path):
    for toy in (Toy(1), Toy(2), Toy(1, fails=("nothing",))):  # the last has nothing to measure
        runner = Runner(toy, tmp_path)
        runner.run()
    assert len(kept(runner, "environments")) == 1
    assert [each["n_splits"] for each in kept(runner, "full_settings").values()] == [1, 2]


def test_the_folder_of_the_data_is_no_setting(tmp_path):
    settings = [
        Runner(Coverage(data_dir=tmp_path / name), tmp_path)._full_settings() for name in "ab"
    ]
    assert settings[0] == settings[1]


def test_data_that_cannot_be_hashed_are_a_failure_like_others(tmp_path):
    @dataclass(frozen=True)
    class Lost(Toy):
        def data_hash(self, unit):
            raise FileNotFoundError("no such file")

    runner = Runner(Lost(1), tmp_path)
    assert runner.run() == 6
    assert not list(runner.records)


def test_a_failure_is_noted_and_costs_nothing_else(tmp_path, capsys):
    runner = Runner(Toy(1, fails=("second",)), tmp_path)
    assert runner.run() == 2
    assert {method for _, _, method in keys(runner)} == {"first", "third"}
    errors = [json.loads(line) for line in (tmp_path / "errors.jsonl").read_text().splitlines()]
    assert "second cannot be measured" in errors[0]["error"]
    assert "second failed: see" in capsys.readouterr().err


def test_what_failed_is_tried_again(tmp_path):
    Runner(Toy(1, fails=("second",)), tmp_path).run()
    runner = Runner(Toy(1), tmp_path)
    assert runner.run() == 0
    assert len(keys(runner)) == 6


def test_other_settings_need_another_folder(tmp_path):
    Runner(Toy(1), tmp_path).run()
    with pytest.raises(SystemExit, match="another --results folder"):
        Runner(Toy(1, pause=0.001), tmp_path).run()


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_a_run_killed_at_any_time_goes_on_where_it_was(tmp_path, kill):
    code = (
        "import signal; from test_runner import Toy, Runner; from pathlib import Path; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # if the tests are deaf to it
        f"Runner(Toy(3, pause=0.05), Path({str(tmp_path)!r})).run()"
    )
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "src", Path(__file__).parent)))
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.DEVNULL,
    )
    records = tmp_path / "records.jsonl"
    deadline = time.time() + 60
    while not records.exists() or len(records.read_text().splitlines()) < 4:
        assert time.time() < deadline
        time.sleep(0.01)
    process.send_signal(kill)
    process.wait()
    runner = Runner(Toy(3, pause=0.05), tmp_path)
    before = keys(runner)
    assert 4 <= len(before) < 18
    assert runner.run() == 0
    assert len(list(runner.records)) == len(keys(runner)) == 18
