"""Docstring examples of PyTorch modules run where torch is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/nearbayes/neural/torch_*.py"]
