"""Mutated files do no harm: a few with fixed seeds here, 20,000 with ``make fuzz``."""

import os
from collections import Counter

from fuzzing import FAST, fuzz, originals
from reading_process import ReadingProcess


def test_mutated_files_do_no_harm(tmp_path):
    counts, harm = fuzz(originals(tmp_path, FAST), 200, seed=1)
    assert not harm
    total = sum(counts.values(), Counter())
    assert total["refused"] > 50  # mutations reach what is checked
    assert total["model"] > 0  # and what is harmless


def test_crashes_are_seen(tmp_path):
    """The fuzzer sees a reading process that dies, and starts another."""
    with ReadingProcess() as process:
        process._started().kill()
        process._process.wait()
        assert process.read(tmp_path / "none").what == "crash"
        assert process.read(tmp_path / "none").what == "error"


def test_hangs_are_seen(tmp_path):
    os.mkfifo(tmp_path / "never")  # opening it waits for a writer
    with ReadingProcess() as process:
        assert process.read(tmp_path / "never", seconds=0.3).what == "hang"
