"""A process of its own that reads files, so that a crash of compiled code can be seen.

Run as a program, it loads each file that standard input names, predicts with it, and prints one
line of JSON: what happened, and how much memory it took. `ReadingProcess` starts it, watches it,
and starts it again if it dies.
"""

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

MOST_SECONDS = 10.0
MOST_MEGABYTES = 1_000.0
ADDRESS_SPACE = 12 << 30  # so that a failed check cannot take the machine with it


@dataclass(frozen=True)
class Outcome:
    """What became of a file: "refused", "model", "error" (in Python), "crash" or "hang".

    `seconds` are those of the processor: a busy machine is not the fault of a file.
    """

    what: str
    words: str
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def harmless(self):
        calm = self.seconds <= MOST_SECONDS and self.megabytes <= MOST_MEGABYTES
        return self.what not in ("crash", "hang") and calm


class ReadingProcess:
    """Reads files in another process; a context manager."""

    def __init__(self):
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stop()

    def read(self, path, rows=None, seconds=MOST_SECONDS):
        """Load a file and predict `rows`, an .npy file."""
        process = self._started()
        with contextlib.suppress(BrokenPipeError):  # it died; there will be no answer
            process.stdin.write(json.dumps([str(path), rows and str(rows)]).encode() + b"\n")
            process.stdin.flush()
        line = self._line(seconds)
        if line is None:
            self._stop()
            return Outcome("hang", f"more than {seconds:g} s", seconds)
        if not line:
            code = process.wait()
            self._stop()
            return Outcome("crash", signal.Signals(-code).name if code < 0 else f"exit {code}")
        return Outcome(**json.loads(line))

    def _started(self):
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            assert self._line(120.0), "the reading process did not start"
        return self._process

    def _line(self, seconds):
        """The next line; nothing if the process ended, None if it takes too long."""
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return self._process.stdout.readline() if ready else None

    def _stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _memory(name):
    """VmRSS or VmHWM of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1000
    return 0.0


def _predict(model, rows):
    import numpy as np

    import nearbayes as nb

    x = None if rows is None else np.load(rows)
    if isinstance(model, nb.PosteriorClassifier | nb.PosteriorRegressor):
        model.predict(x)
        model.predict_interval(x)
        if isinstance(model, nb.PosteriorClassifier):
            model.predict_proba(x)
    elif hasattr(model, "interventional_mean"):
        model.sample(do={"a": 0.5}, n=9)
        model.interventional_mean("y", do={"a": 0.5})
    elif type(model.algorithm).__name__ == "RandomFeatureGP":
        model.predict(x)
    else:
        model.apply(lambda draw: np.asarray(draw, dtype=float).sum())


def _read(path, rows):
    from nearbayes import load
    from nearbayes.files import FileRefused

    try:
        model = load(path)
        _predict(model, rows)
    except FileRefused as refused:
        return "refused", str(refused)
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
    return "model", type(model).__name__


def _serve():
    import time

    import lightgbm  # noqa: F401 - libraries are imported before the first file is timed
    import xgboost  # noqa: F401

    import nearbayes  # noqa: F401

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        path, rows = json.loads(line)
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # a new high-water mark
        before, start = _memory("VmRSS"), time.process_time()
        what, words = _read(path, rows)
        answer = {
            "what": what,
            "words": words[:400],
            "seconds": time.process_time() - start,
            "megabytes": max(0.0, _memory("VmHWM") - before),
        }
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
