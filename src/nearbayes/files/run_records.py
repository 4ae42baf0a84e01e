"""Settings of a run as records: the schedule, and the seed that was used."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from nearbayes.core.schedule import Schedule
from nearbayes.files.manifest import Record

__all__ = ["schedule_of", "schedule_record", "seed_record"]


def seed_record(model: Any) -> Any:
    """The seed that was used, which reproduces the draws; a generator has changed since."""
    given = model.random_state
    is_plain = given is None or isinstance(given, int | np.integer)
    return int(model.posterior_.provenance.seed) if not is_plain else given and int(given)


def schedule_record(schedule: Any) -> Any:
    """A schedule by its amounts; other values are unchanged."""
    if not isinstance(schedule, Schedule):
        return schedule
    amounts = asdict(schedule).items()
    return {key: each.item() if isinstance(each, np.generic) else each for key, each in amounts}


def schedule_of(record: Record) -> Schedule:
    """A schedule; whole numbers stay whole, as they mean rows."""
    if "refits" in record:
        return Schedule.optimal(record.whole("refits", 0, 1_000_000))
    amounts = {}
    for name in ("horizon", "block"):
        is_whole = isinstance(record.get(name), int)
        amounts[name] = record.whole(name, 1) if is_whole else record.number(name)
    return Schedule.arithmetic(**amounts)
