"""Command line: ``nearbayes fit data.csv --target outcome``; see ``nearbayes --help``."""

from __future__ import annotations

import sys

__all__ = ["main"]

NEEDED = {"typer", "pandas", "jinja2", "skops", "pyarrow"}


def main() -> None:
    """Entry point of the program ``nearbayes``."""
    try:
        _main()
    except KeyboardInterrupt:  # while the libraries are loaded
        print("nearbayes: interrupted", file=sys.stderr)
        sys.exit(1)


def _main() -> None:
    try:
        from nearbayes.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        print(f"nearbayes needs {error.name}: pip install 'nearbayes[cli]'", file=sys.stderr)
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))
