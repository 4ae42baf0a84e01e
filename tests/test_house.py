"""The house: data flows one way. A room imports only rooms above it in this list."""

import ast
import sys
from pathlib import Path

import pytest

import nearbayes

ROOT = Path(nearbayes.__file__).parent
ROOMS = [
    "telling",
    "registry",
    "metrics",
    "draws",
    "execution",
    "tables",
    "core",
    "methods",
    "learners",
    "fits",
    "predictives",
    "algorithms",
    "compiled",
    "gradients",
    "gp",
    "neural",
    "baselines",
    "causal",
    "files",
    "diagnostics",
    "estimators",
    "pyfunc",
    "inspection",
    "plots",
    "report",
    "cli",
]
FILES = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
# Names that two rooms share because they mean the same: one computes it, the other shows it.
SAME_SUBJECT = {"calibration", "dependence", "importance", "paths", "reliability"}


def _module(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path) for path in FILES}


def room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Modules of nearbayes that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nearbayes"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in names if name in MODULES]
            yield from modules or [node.module]
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("nearbayes"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_rooms_above_it(path):
    here = ROOMS.index(room(path))
    for module in imported(path):
        parts = module.split(".")
        if parts[1:2] and parts[1] in ROOMS:
            assert ROOMS.index(parts[1]) <= here, f"{path} imports {module}"


def test_every_room_is_in_the_list():
    assert {room(path) for path in FILES} == set(ROOMS)


def test_modules_have_no_cycles():
    """Within a room, too."""
    graph = {_module(path): set(imported(path)) for path in FILES}
    done, path = set(), []

    def visit(module):
        assert module not in path, " -> ".join([*path, module])
        if module in done or module not in graph:
            return
        path.append(module)
        for other in sorted(graph[module]):
            visit(other)
        path.pop()
        done.add(module)

    for module in sorted(graph):
        visit(module)


def test_no_basename_means_two_things():
    names = {}
    for path in FILES:
        if path.stem != "__init__":
            names.setdefault(path.stem, []).append(room(path))
    twice = {name for name, rooms in names.items() if len(rooms) > 1}
    assert twice <= SAME_SUBJECT


def test_no_module_has_the_name_of_a_library():
    libraries = set(sys.stdlib_module_names) | {
        "numpy", "scipy", "sklearn", "joblib", "pandas", "polars", "xgboost", "lightgbm",
        "catboost", "autogluon", "jax", "torch", "equinox", "optax", "arviz", "ray", "dask",
    }  # fmt: skip
    own = {path.stem for path in FILES} | {room(path) for path in FILES}
    assert own & libraries <= {"__main__"}


def test_the_core_knows_two_protocols_for_algorithms():
    tree = ast.parse((ROOT / "core" / "protocols.py").read_text())
    kinds = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert {name for name in kinds if name.endswith("Algorithm")} == {"Algorithm", "ChunkAlgorithm"}
