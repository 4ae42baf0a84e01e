import os
import time

import joblib
import numpy as np
import pytest
import sklearn
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import ThreadingBackend
from threadpoolctl import threadpool_info, threadpool_limits

from nearbayes.execution.executor import JoblibExecutor, gather, one_thread, timed_on_one_thread


def do(task, items, shared=None, n_jobs=None, runs_in="processes", **options):
    return gather(JoblibExecutor(n_jobs, runs_in), task, shared, items, **options)


def values(found):
    return {item: done.value for item, done in found.done.items()}


def square(shared, k):
    return k * k


def fails_at_one(shared, k):
    if k == 1:
        raise ArithmeticError("two\nlines")
    return k * k


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info()]


def routing_enabled():
    return sklearn.get_config()["enable_metadata_routing"]


def test_inner_threads_are_capped_at_one():
    threads, _ = timed_on_one_thread(blas_threads)
    assert set(threads) == {1}


def test_threads_that_leave_in_any_order_leave_no_cap_behind():
    def of_linear_algebra():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert of_linear_algebra() == {1}
        second.__exit__(None, None, None)
        assert of_linear_algebra() == {2}


def test_inner_joblib_is_sequential_and_the_outer_one_comes_back():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        inside, _ = timed_on_one_thread(lambda: joblib.effective_n_jobs(2))
        assert joblib.effective_n_jobs(None) == 2
    assert inside == 1


def test_seconds_are_those_of_the_task():
    result, seconds = timed_on_one_thread(lambda: time.sleep(0.05) or "done")
    assert result == "done"
    assert 0.05 <= seconds < 1.0


def test_every_item_is_done_with_what_is_shared():
    found = do(lambda shared, k: shared["add"] + k, range(6), shared={"add": 10})
    assert values(found) == {k: 10 + k for k in range(6)}
    assert all(done.seconds >= 0 for done in found.done.values())
    assert (found.lost, found.interrupted) == ({}, False)


def test_parallel_config_is_honoured():
    def process(shared, k):
        return os.getpid()

    assert set(values(do(process, range(3))).values()) == {os.getpid()}
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert os.getpid() not in values(do(process, range(3))).values()
        assert set(values(do(process, range(3), runs_in="threads")).values()) == {os.getpid()}


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_scikit_learn_configuration_and_thread_cap_reach_the_workers(backend):
    def both(shared, k):
        return routing_enabled(), blas_threads()

    with (
        sklearn.config_context(enable_metadata_routing=True),
        joblib.parallel_config(backend=backend, n_jobs=2),
    ):
        found = values(do(both, range(3)))
    for routing, threads in found.values():
        assert routing is True
        assert set(threads) == {1}
    assert routing_enabled() is False


def test_a_failed_task_is_recorded():
    found = do(fails_at_one, [0, 1, 2])
    assert values(found) == {0: 0, 2: 4}
    assert found.lost[1].error == "ArithmeticError: two lines"
    assert "in fails_at_one" in found.lost[1].traceback


def test_a_failed_task_is_raised_if_asked():
    with pytest.raises(ArithmeticError, match="two"):
        do(fails_at_one, [0, 1], on_error="raise")


def dies_at_one(shared, k):
    if k == 1:
        os._exit(1)
    return k * k


def test_a_dead_worker_loses_its_own_task_alone():
    found = do(dies_at_one, range(6), n_jobs=2)
    assert values(found) == {k: k * k for k in range(6) if k != 1}
    assert "worker process died" in found.lost[1].error
    with pytest.raises(TerminatedWorkerError):
        do(dies_at_one, range(6), n_jobs=2, on_error="raise")


class NoGenerators(ThreadingBackend):
    """A backend that can only return everything at the end, as some plugins do."""

    supports_return_generator = False


def test_a_backend_without_generators():
    joblib.register_parallel_backend("no_generators", NoGenerators)
    with joblib.parallel_config(backend="no_generators", n_jobs=2):
        assert values(do(square, range(4))) == {0: 0, 1: 1, 2: 4, 3: 9}


def test_interrupted_before_any_result_is_an_interrupt():
    def interrupted_at(at):
        def task(shared, k):
            if k == at:
                raise KeyboardInterrupt
            return k

        return task

    with pytest.raises(KeyboardInterrupt):
        do(interrupted_at(0), range(3))
    found = do(interrupted_at(1), range(3))
    assert (values(found), found.interrupted) == ({0: 0}, True)


def test_the_estimate_is_shared_by_the_workers_and_the_bar_counts_sizes(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    options = {"seconds_per_item": 10.0, "progress": True, "sizes": [5, 5, 5, 1]}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        do(square, range(4), **options)
    shown = capsys.readouterr().err
    assert "estimated 20 s" in shown
