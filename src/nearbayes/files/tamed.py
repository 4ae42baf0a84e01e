"""Tamed: safe values for parameters of a file that affect this machine.

The reader decides about threads, device and cache, not the file: two million threads, or a folder
of pickles as a cache, are not part of a model.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["tamed_params", "tamed_value"]

THREADS = ("n_jobs", "nthread", "n_threads", "num_threads", "thread_count", "pre_dispatch")
PLACES = (
    *("device", "device_type", "gpu_id", "memory", "machines", "machine_list_filename"),
    *("forcedsplits_filename", "forcedbins_filename", "parser_config_file", "input_model"),
    *("output_model", "predict_disable_shape_check"),
)


def tamed_params(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with at most as many threads as there are cores, on the processor, uncached.

    Examples
    --------
    >>> tamed_params({"n_jobs": 2_000_000, "device": "cuda:7", "max_depth": 3})["device"]
    >>> tamed_params({"n_jobs": 1})
    {'n_jobs': 1}
    """
    return {name: tamed_value(name, value) for name, value in params.items()}


def tamed_value(name: str, value: Any) -> Any:
    """One parameter; parameters other than threads and places are unchanged."""
    last = name.rpartition("__")[2]
    if last in PLACES:
        return value if value == "cpu" else None
    if last in THREADS:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return max(-1, min(value, os.cpu_count() or 1)) if is_whole else None
    return value
