"""`nearbayes doctor`, help, version and completion: at once, and with the core alone."""

import subprocess
import sys

import pytest
import typer
from cli_cases import csv_of, table

from nearbayes.cli import choices, doctor
from nearbayes.cli.app import run
from nearbayes.cli.completion import columns_of
from nearbayes.estimators import face

CORE_ALONE = """
import sys
for name in ("typer", "jinja2", "skops"):
    sys.modules[name] = None
sys.argv = ["nearbayes", "{}"]
from nearbayes.cli import doctor, main
doctor.LIBRARIES = {{}}
doctor._version = lambda name: "" if name == "skops" else "1.0"
main()
"""


def alone(command):
    code = [sys.executable, "-c", CORE_ALONE.format(command)]
    return subprocess.run(code, capture_output=True, text=True, check=False)


def test_doctor_works_with_the_core_alone():
    done = alone("doctor")
    assert "All of it works." in done.stdout, done.stderr
    assert "pip install 'nearbayes[cli]'" in done.stderr
    assert done.returncode == 0


def test_other_commands_say_what_is_missing():
    done = alone("fit")
    assert done.returncode == 2
    assert "the command line needs typer: pip install 'nearbayes[cli]'" in done.stderr


def test_doctor_says_what_fails(monkeypatch, capsys):
    def broken():
        raise OSError("no space left on /dev/shm")

    monkeypatch.setattr(doctor, "_tests", lambda: iter([("two processes", broken)]))
    assert run(["doctor"]) == 1
    out, err = capsys.readouterr()
    assert "no space left" in err
    assert "Something does not work" in out


def test_help_loads_no_heavy_library():
    code = (
        "import sys; from nearbayes.cli.app import run; run(['fit', '--help']); "
        "print('LOADED', [m for m in ('numpy', 'pandas', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_methods_of_the_command_line_are_those_of_the_library():
    assert choices.Method == face.Method


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_completion_offers_the_columns_of_the_file(tmp_path, mark):
    csv_of(tmp_path, table())
    table().to_csv(tmp_path / "d.csv", index=False, sep=mark)
    context = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    context.params["data"] = str(tmp_path / "d.csv")
    assert columns_of(context, "c") == ["colour"]
    context.params["data"] = str(tmp_path / "absent.csv")
    assert columns_of(context, "") == []
