"""Ctrl-C on a real terminal, once and twice, and SIGTERM, at every stage of ``nearbayes fit``."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cli_cases import csv_of, table

from nearbayes.cli.app import run
from nearbayes.cli.modelfile import ModelFile

# The program ``nearbayes``, which says where it is, and takes a while at one stage.
PROGRAM = """
import fcntl, os, signal, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C on standard input is a signal for this program
signal.signal(signal.SIGINT, signal.default_int_handler)
from nearbayes.cli import commands, fit_command, main, modelfile
from nearbayes.execution.work import Work

def told(owner, name, word):
    usual = getattr(owner, name)
    def slow(*arguments, **options):
        print(f"<{word}>", flush=True)
        time.sleep(0.5 * (word == os.environ["STAGE"]))
        return usual(*arguments, **options)
    setattr(owner, name, slow)

told(commands, "fitted", "first fit")
told(Work, "outcome", "draw")
told(fit_command, "_calibrate", "calibrating")
told(modelfile.ModelFile, "write", "writing")
main()
"""
BETWEEN = 1.2  # seconds between two presses, more than those of a key that bounces
OPTIONS = ("--model", "xgboost", "--draws", "8", "--refits", "2", "--jobs", "1")


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, stage, *arguments):
        self.screen, end = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=end, stdout=end, stderr=end, start_new_session=True,
            env={**os.environ, "STAGE": stage},
        )  # fmt: skip
        os.close(end)
        self.text = ""

    def read_until(self, word, times=1, seconds=120):
        deadline = time.monotonic() + seconds
        while self.text.count(word) < times:
            assert time.monotonic() < deadline, self.text
            if not self._read():
                break
        return self.text

    def _read(self):
        if not select.select([self.screen], [], [], 1.0)[0]:
            return True
        try:
            self.text += os.read(self.screen, 4096).decode()
        except OSError:  # the other end is closed
            return False
        return True

    def press_ctrl_c(self):
        os.write(self.screen, b"\x03")

    def end(self):
        self.read_until("no such text", seconds=120)
        os.close(self.screen)
        return self.process.wait(60)


def stop(terminal, how):
    if how == "SIGTERM":
        terminal.process.send_signal(signal.SIGTERM)
        return
    terminal.press_ctrl_c()
    if how == "twice":
        time.sleep(BETWEEN)
        terminal.press_ctrl_c()


SLOW = pytest.mark.slow
CASES = [
    pytest.param("first fit", 1, "once", False, marks=SLOW),
    pytest.param("first fit", 1, "twice", False, marks=SLOW),
    pytest.param("draw", 4, "once", True, marks=SLOW),
    ("draw", 4, "twice", True),
    pytest.param("draw", 4, "SIGTERM", True, marks=SLOW),
    pytest.param("calibrating", 1, "once", True, marks=SLOW),
    pytest.param("calibrating", 1, "twice", True, marks=SLOW),
    ("calibrating", 1, "SIGTERM", True),
    pytest.param("writing", 1, "once", False, marks=SLOW),
    ("writing", 1, "twice", False),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The model of a fit that nobody stops."""
    folder = tmp_path_factory.mktemp("whole")
    data, output = csv_of(folder, table(n=60)), folder / "whole.nearbayes"
    assert run(["fit", str(data), "--target", "y", "-o", str(output), *OPTIONS, "--quiet"]) == 0
    return ModelFile.read(output)


@pytest.mark.parametrize(("stage", "times", "how", "is_written"), CASES)
def test_a_fit_that_is_stopped_loses_nothing_and_goes_on(
    tmp_path, whole, stage, times, how, is_written
):
    data, output = csv_of(tmp_path, table(n=60)), tmp_path / "m.nearbayes"
    command = ("fit", str(data), "--target", "y", "-o", str(output), *OPTIONS)
    terminal = Terminal(stage, *command)
    terminal.read_until(f"<{stage}>", times)
    stop(terminal, how)
    code = terminal.end()
    said = re.sub(r"\s+", " ", terminal.text)
    assert code == 1, said
    assert "Traceback" not in said
    assert output.exists() == is_written, said
    if stage != "first fit":
        assert "run the same command again to continue" in said
    assert run([*command]) == 0
    again, never = ModelFile.read(output).model, whole.model
    X = whole.schema.inputs(whole.held_out)
    np.testing.assert_array_equal(again.posterior_predictions(X), never.posterior_predictions(X))
    np.testing.assert_array_equal(again.predict_interval(X), never.predict_interval(X))
    names = {each.name for each in tmp_path.iterdir()}
    assert names == {"data.csv", "m.nearbayes"}
