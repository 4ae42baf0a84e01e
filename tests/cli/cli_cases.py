"""Small data files and a way to run the command line, for all its tests."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nearbayes.cli.app import run

QUICK = ("--model", "linear", "--draws", "3", "--refits", "2", "--no-calibration")


def table(task: str = "regression", n: int = 60) -> pd.DataFrame:
    """Numbers, categories, dates and missing values, with a target "y"."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    colour = rng.choice(["red", "blue"], n)
    mean = x + (colour == "red")
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, x),
            "colour": colour,
            "when": pd.date_range("2024-01-01", periods=n, freq="31h").strftime("%Y-%m-%d"),
        }
    )
    if task == "regression":
        return frame.assign(y=mean + 0.3 * rng.normal(size=n))
    return frame.assign(y=np.where(mean + rng.normal(size=n) > 0.5, "yes", "no"))


def text_file(folder: Path, text: str, name: str = "data.csv", encoding: str = "utf-8") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def csv_of(folder: Path, frame: pd.DataFrame, name: str = "data.csv") -> Path:
    """The frame as a CSV file."""
    frame.to_csv(folder / name, index=False)
    return folder / name


def fitted(data: Path, output: Path, *options: str, target: str = "y") -> Path:
    """A model file, made as fast as can be; later options win."""
    arguments = ["fit", str(data), "--target", target, "-o", str(output), *QUICK, *options]
    assert run([*arguments, "--quiet"]) == 0
    return output


def refused(
    capsys: pytest.CaptureFixture[str], *arguments: object, says: str, code: int = 2
) -> None:
    """Check that a command ends with one sentence on stderr, and a traceback only for --debug."""
    capsys.readouterr()
    texts = [str(each) for each in arguments]
    assert run([*texts, "--quiet"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("nearbayes: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert says in err
    assert run([*texts, "--debug"]) == code
    assert "Traceback" in capsys.readouterr().err
