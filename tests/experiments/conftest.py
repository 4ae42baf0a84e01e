"""A small git repository that looks like ours."""

import os
import subprocess

import pytest
from experiments.runner.checkout import Checkout


@pytest.fixture
def git(tmp_path):
    """Run git in a repository of its own, whatever the user or a hook has set."""
    root = tmp_path / "repository"
    root.mkdir()
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    me = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")

    def run(*arguments):
        subprocess.run(
            ["git", *me, *arguments], cwd=root, env=ours, check=True, capture_output=True
        )

    run("init")
    return run


@pytest.fixture
def repository(tmp_path, git):
    """One commit with code, a page and results."""
    root = tmp_path / "repository"
    for name in ("src/nearbayes/code.py", "experiments/toy/results/report.md", "README.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("as committed\n")
    (root / ".gitignore").write_text("__pycache__/\n")
    git("add", ".")
    git("commit", "-m", "all")
    return Checkout(root, root / "src" / "nearbayes")
