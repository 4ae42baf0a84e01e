"""AutoGluon's seeds: each fit gets its own, without side effects on other code."""

from __future__ import annotations

import logging
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

__all__ = ["own_randomness", "small_seed"]

# Seeds are set on a class of AutoGluon and in global random states, so one fit runs at a time.
ONE_FIT = threading.RLock()
LOGGER = "autogluon"
# This logger reports at any verbosity, for every model, that PyTorch is missing.
ABOUT_TORCH = "autogluon.common.utils.resource_utils"


def small_seed(seed: int) -> int:
    """A seed that stays within 32 bits when AutoGluon adds folds and levels to it."""
    return seed >> 1


@contextmanager
def own_randomness(seed: int, verbosity: int) -> Iterator[None]:
    """Seed all sources of random numbers of a fit, and restore them afterwards.

    AutoGluon uses `default_random_seed` for every model that is not bagged, and has no argument to
    set it. Some models use the global random states of NumPy, Python or PyTorch.

    Parameters
    ----------
    seed : int
    verbosity : int
        Verbosity of the fit; 0 is silent.
    """
    from autogluon.core.models import AbstractModel

    with ONE_FIT, ExitStack() as undo:
        undo.callback(setattr, AbstractModel, "default_random_seed", _usual_seed(AbstractModel))
        undo.callback(random.setstate, random.getstate())
        undo.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        if "torch" in sys.modules:
            undo.enter_context(sys.modules["torch"].random.fork_rng(devices=[]))
        for name in (LOGGER, ABOUT_TORCH):  # `fit` sets the level of the first
            logger = logging.getLogger(name)
            undo.callback(logger.setLevel, logger.level)
        if verbosity == 0:
            logging.getLogger(ABOUT_TORCH).setLevel(logging.CRITICAL)
        AbstractModel.default_random_seed = small_seed(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        yield


def _usual_seed(model: type) -> int | None:
    """AutoGluon's default seed; raise an error if its version has none."""
    if not hasattr(model, "default_random_seed"):
        raise ImportError(
            "this version of AutoGluon cannot be seeded: pip install 'autogluon.tabular>=1.5'."
        )
    usual: int | None = model.default_random_seed
    return usual
