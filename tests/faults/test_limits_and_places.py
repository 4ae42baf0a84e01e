"""Limits of draws, and checkpoints that cannot be written: said, and nothing else is lost."""

import os
import subprocess
import time
from contextlib import contextmanager

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.core.engine import DrawWarning
from nearbayes.execution.checkpoint import CheckpointWarning
from nearbayes.execution.stores import StoreError

Z = np.random.default_rng(0).normal(size=30)
OPTIONS = {
    "n_draws": 10,
    "schedule": nb.Schedule.optimal(2),
    "random_state": 3,
    "n_jobs": 2,
    "progress": False,
}
NOBODY = 65534


class BadAt(nb.Algorithm):
    """The mean; the refits of one draw in ten do something bad."""

    def __init__(self, bad=None, unlike=None):
        self.bad, self.unlike = bad, unlike

    def fit(self, data, rng):
        return float(np.mean(data.y))

    def refit(self, data, new, model, rng):
        if self.bad is not None and rng.random() == self.unlike:
            self.bad()
        return self.fit(data, rng)

    def sample(self, model, x, rng):
        return rng.normal(model, 1.0, len(x))


HEARD = []


class Listening(BadAt):
    """Notes the random numbers by which its refits are known."""

    def refit(self, data, new, model, rng):
        HEARD.append(rng.random())
        return self.fit(data, rng)


@pytest.fixture(scope="module")
def whole():
    HEARD.clear()
    posterior = nb.martingale_posterior(Listening(), Z, **{**OPTIONS, "n_jobs": 1})
    return list(posterior.models), HEARD[2 * 4]  # of the first refit of draw 4


def hang():
    time.sleep(600)


def take_memory():
    held = np.ones(int(400e6 / 8))
    time.sleep(5)
    return held


def fail():
    raise ArithmeticError("one in ten")


@pytest.mark.parametrize(
    ("bad", "limit", "said"),
    [
        (hang, {"draw_timeout": 3.0}, "took longer than draw_timeout allows"),
        (take_memory, {"draw_memory": 150e6}, "took more memory than draw_memory allows"),
        (fail, {}, "one in ten"),
    ],
)
def test_one_draw_in_ten_is_lost_and_said_and_the_others_are_what_they_were(
    whole, bad, limit, said
):
    models, number = whole
    with pytest.warns(DrawWarning, match=f"1 of 10 draws failed .*{said}"):
        found = nb.martingale_posterior(BadAt(bad, number), Z, **OPTIONS, **limit)
    assert [each.index for each in found.failed] == [4]
    assert list(found.models) == models[:4] + models[5:]


def test_limits_are_checked():
    for limit in ({"draw_memory": 0}, {"draw_timeout": -1}):
        with pytest.raises(ValueError, match="must be None or a positive number of"):
            nb.martingale_posterior(BadAt(), Z, **OPTIONS, **limit)


@contextmanager
def as_nobody():
    """As a user who may not write everywhere, which root may."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cannot_be_written_is_said_before_the_work(tmp_path):
    os.chmod(tmp_path, 0o555)
    with as_nobody(), pytest.raises(StoreError, match=r"run cannot be written \(.*\): use a fold"):
        nb.martingale_posterior(BadAt(), Z, checkpoint=tmp_path / "run", **OPTIONS)


def test_a_folder_that_becomes_read_only_costs_no_draws(tmp_path, whole):
    place = tmp_path / "run"
    with pytest.warns(CheckpointWarning, match="cannot be written, and the run continues without"):
        found = nb.martingale_posterior(Removing(place), Z, checkpoint=place, **OPTIONS)
    assert list(found.models) == whole[0]


class Removing(BadAt):
    """Takes the folder of the checkpoint away while draws are made."""

    def __init__(self, place):
        super().__init__()
        self.place = place

    def refit(self, data, new, model, rng):
        if self.place.exists():
            self.place.rename(self.place.with_name("away"))
        return self.fit(data, rng)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 100 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full_costs_no_draws_and_the_rest_is_made_again(small_disk, whole):
    (small_disk / "filler").write_bytes(bytes(80_000))
    place = small_disk / "run"
    with pytest.warns(CheckpointWarning, match="No space left on device"):
        found = nb.martingale_posterior(Long(), Z, checkpoint=place, **OPTIONS)
    kept = {path.name: path.read_bytes() for path in place.glob("chunk-*")}
    assert 0 < len(kept) < 10
    (small_disk / "filler").unlink()
    again = nb.martingale_posterior(Long(), Z, checkpoint=place, **{**OPTIONS, "n_draws": 4})
    assert list(again.models) == list(found.models)[:4]
    assert all((place / name).read_bytes() == data for name, data in kept.items())


class Long(BadAt):
    """Models of a few kilobytes."""

    def finish(self, model):
        return (model, bytes(4_000))
