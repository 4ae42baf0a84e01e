"""The checkout that an experiment runs from: its commit, and whether the code is what it says."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import nearbayes

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "experiments")  # where a file that is not in git can change what is measured
NOT_RESULTS = ":(exclude,glob)experiments/*/results/**"
MOST_NAMED = 5
ANYWAY = "or measure anyway with --allow-changes, which marks the records with a '+'."


@dataclass(frozen=True)
class Checkout:
    """A git checkout of the repository, and the package that was imported.

    Attributes
    ----------
    root : Path
        Root of the repository.
    package : Path
        Folder that nearbayes was imported from.
    """

    root: Path = ROOT
    package: Path = Path(nearbayes.__file__).parent

    @property
    def commit(self) -> str:
        """The commit that is checked out; with a plus sign if that is not the code that runs."""
        try:
            head = self._git("rev-parse", "--short=12", "HEAD").strip()
        except NoCheckoutError:
            return "unknown+"
        return head + ("+" if self.objection() else "")

    def objection(self, since: str = "HEAD") -> str:
        """Why the code that runs is not that of a commit, in one sentence; empty if it is."""
        try:
            changed = self.changed_files(since)
        except NoCheckoutError as error:
            return str(error)
        if changed:
            return (
                f"the code in {self.root} is not that of {since} ({_named(changed)} changed): "
                f"commit or stash the changes, {ANYWAY}"
            )
        source = self.root / "src"
        if not self.package.resolve().is_relative_to(source.resolve()):
            return (
                f"nearbayes was imported from {self.package}, not from this checkout: "
                f"set PYTHONPATH={source}, {ANYWAY}"
            )
        return ""

    def refuse_changes(self) -> None:
        """Exit if records could not be measured again from the commit alone."""
        if objection := self.objection():
            raise SystemExit(objection)

    def changed_files(self, since: str = "HEAD") -> list[str]:
        """Files other than results that differ from a commit, and sources that git lacks."""
        differ = self._git("diff", "--name-only", "--no-renames", "-z", since, "--", NOT_RESULTS)
        unknown = self._git(
            "ls-files", "--others", "--exclude-standard", "-z", "--", *SOURCES, NOT_RESULTS
        )
        return sorted({name for name in (differ + unknown).split("\0") if name})

    def _git(self, *arguments: str) -> str:
        if not (self.root / ".git").exists():  # else git would look in the folders above
            raise NoCheckoutError(self.root, "no .git in it")
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True
            )
        except FileNotFoundError as error:
            raise NoCheckoutError(self.root, "git is not installed") from error
        except subprocess.CalledProcessError as error:
            raise NoCheckoutError(self.root, error.stderr.strip().partition("\n")[0]) from error
        return done.stdout


class NoCheckoutError(Exception):
    """Git cannot say which commit the code is at."""

    def __init__(self, root: Path, reason: str) -> None:
        super().__init__(
            f"{root} is no git checkout ({reason}), so records cannot name their commit: "
            f"run from a clone, {ANYWAY}"
        )


def _named(files: list[str]) -> str:
    more = len(files) - MOST_NAMED
    return ", ".join(files[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
