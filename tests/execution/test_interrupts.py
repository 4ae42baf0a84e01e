"""Ctrl-C and SIGTERM: the first stops the work, further ones lose nothing that is finished."""

import signal
import threading

import pytest

from nearbayes.execution import interrupts
from nearbayes.execution.executor import gather
from nearbayes.execution.executors import SerialExecutor
from nearbayes.execution.interrupts import stoppable


@pytest.fixture(autouse=True)
def usual_handlers():
    """As in a program of a user; tests in the background are deaf to Ctrl-C."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_and_what_is_finished_is_kept(number):
    def task(shared, k):
        if k == 2:
            signal.raise_signal(number)
        return k

    found = gather(SerialExecutor(), task, None, range(5))
    assert found.interrupted
    assert list(found.done) == [0, 1]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_does_not_lose_what_is_being_put_together(monkeypatch):
    monkeypatch.setattr(interrupts, "SAME_PRESS", 0.0)

    def task(shared, k):
        if k == 1:
            signal.raise_signal(signal.SIGINT)
        return k

    with stoppable() as stop:
        found = gather(SerialExecutor(), task, None, range(5))
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert stop.asked
    assert list(found.done) == [0]
    with pytest.raises(KeyboardInterrupt):  # all is as it was
        signal.raise_signal(signal.SIGINT)


def test_nothing_finished_raises():
    with pytest.raises(KeyboardInterrupt):
        gather(SerialExecutor(), lambda *_: signal.raise_signal(signal.SIGINT), None, range(2))


def test_handlers_of_the_user_and_other_threads_are_left_alone():
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append("theirs"))
    with stoppable():
        signal.raise_signal(signal.SIGTERM)
    assert heard == ["theirs"]

    def elsewhere():
        with stoppable() as stop:
            heard.append(stop.asked)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert heard == ["theirs", False]
