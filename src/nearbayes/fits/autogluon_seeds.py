"""AutoGluon's seeds: every fit has its own, and nothing outside of it notices."""

from __future__ import annotations

import logging
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

__all__ = ["own_randomness", "small_seed"]

# Seeds are set on a class of AutoGluon and in global random states: one fit at a time.
ONE_FIT = threading.RLock()
LOGGER = "autogluon"
# At any verbosity, and for every model, it says that PyTorch is missing.
ABOUT_TORCH = "autogluon.common.utils.resource_utils"


def small_seed(seed: int) -> int:
    """A seed to which AutoGluon can add folds and levels within 32 bits."""
    return seed >> 1


@contextmanager
def own_randomness(seed: int, verbosity: int) -> Iterator[None]:
    """Seed whatever a fit takes random numbers from, and leave no trace of that.

    AutoGluon gives every model that is not bagged the seed `default_random_seed`, and has no
    argument for it. Some models use the global random states of NumPy, Python or PyTorch.

    Parameters
    ----------
    seed : int
    verbosity : int
        Of the fit; at 0 nothing is to be heard.
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
    """AutoGluon's own seed, 0; an AutoGluon without it cannot be seeded."""
    if not hasattr(model, "default_random_seed"):
        raise ImportError(
            "AutoGluon is too old to be given seeds: pip install 'autogluon.tabular>=1.5'."
        )
    usual: int | None = model.default_random_seed
    return usual
