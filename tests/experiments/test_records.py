import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from experiments.runner.records import Records, Unit


def record(method="base", split=0, **measured):
    return {"data_set": "toy", "split": split, "method": method, "seconds": 0.1, **measured}


def append_many(path, method):
    for split in range(20):
        Records(path).append(record(method, split, text="x" * 3000))


def test_what_was_appended_is_read_back(tmp_path):
    records = Records(tmp_path / "folder" / "records.jsonl")
    records.append(record(nll=0.5))
    assert records.of(Unit("toy", 0))["base"]["nll"] == 0.5
    assert records.of(Unit("toy", 1)) == {}


def test_no_file_is_no_records(tmp_path):
    assert list(Records(tmp_path / "none.jsonl")) == []
    with pytest.raises(FileNotFoundError, match="run the experiment first"):
        Records(tmp_path / "none.jsonl").frame()


def test_a_line_broken_off_by_a_kill_is_left_out_and_does_not_spoil_the_next(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    records.append(record("base"))
    with records.path.open("a") as file:
        file.write('{"data_set": "toy", "split": 0, "meth')
    records.append(record("bootstrap"))
    assert [each["method"] for each in records] == ["base", "bootstrap"]


def test_processes_may_write_at_once(tmp_path):
    path = tmp_path / "records.jsonl"
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:  # JAX may be loaded
        list(pool.map(append_many, [path] * 4, "abcd"))
    lines = path.read_text().splitlines()
    assert len(lines) == 80
    assert {json.loads(line)["method"] for line in lines} == set("abcd")


def test_the_last_of_two_measurements_counts(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    for nll in (1.0, 2.0):
        records.append(record(nll=nll))
    assert records.frame()["nll"].tolist() == [2.0]
