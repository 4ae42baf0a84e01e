"""Command line: ``nearbayes fit data.csv --target outcome``; see ``nearbayes --help``."""

from __future__ import annotations

import signal
import sys

from nearbayes import __version__
from nearbayes.cli.errors import missing

__all__ = ["main"]


def main() -> None:
    """Entry point of the program ``nearbayes``."""
    try:
        _main()
    except KeyboardInterrupt:  # while the libraries are loaded
        print("nearbayes: interrupted", file=sys.stderr)
        sys.exit(1)


def _main() -> None:
    if sys.argv[1:] == ["--version"]:  # without loading the libraries of the commands
        print(f"nearbayes {__version__}")
        return
    try:
        from nearbayes.cli.app import run
    except ModuleNotFoundError as error:
        if not missing(error):
            raise
        print(f"nearbayes: {missing(error)}", file=sys.stderr)
        sys.exit(_examined() if sys.argv[1:2] == ["doctor"] else 2)
    code = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a late Ctrl-C changes nothing any more
    sys.exit(code)


def _examined() -> int:
    """Run `nearbayes doctor` where the command line is not installed; 1 if something fails."""
    from nearbayes.cli.console import Speaker
    from nearbayes.cli.doctor import examine

    return 1 if examine(Speaker())["failed"] else 0
