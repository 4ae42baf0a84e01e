import os
import time

import joblib
import numpy as np
import pytest
import sklearn
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import ThreadingBackend
from threadpoolctl import threadpool_info, threadpool_limits

from nearbayes.core.executor import make_draws, one_thread, timed_on_one_thread


def square(k):
    return lambda: k * k


def fails():
    raise ArithmeticError("two\nlines")


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


def test_draws_come_in_the_order_of_their_seeds():
    def slow_first(k):
        return lambda: time.sleep(0.05 if k == 0 else 0.0) or k

    with joblib.parallel_config(backend="threading", n_jobs=2):
        drawn = make_draws([slow_first(k) for k in range(6)])
    assert drawn.models == drawn.index == list(range(6))
    assert len(drawn.seconds) == 6
    assert (drawn.failed, drawn.interrupted) == ([], False)


def test_parallel_config_is_honoured():
    def process():
        return os.getpid()

    assert set(make_draws([process] * 3).models) == {os.getpid()}
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert os.getpid() not in make_draws([process] * 3).models


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_scikit_learn_configuration_and_thread_cap_reach_the_workers(backend):
    with (
        sklearn.config_context(enable_metadata_routing=True),
        joblib.parallel_config(backend=backend, n_jobs=2),
    ):
        drawn = make_draws([routing_enabled, routing_enabled, blas_threads])
    assert drawn.models[:2] == [True, True]
    assert set(drawn.models[2]) == {1}
    assert routing_enabled() is False


def test_a_failed_draw_is_recorded():
    drawn = make_draws([square(2), fails, square(3)])
    assert (drawn.models, drawn.index) == ([4, 9], [0, 2])
    (failure,) = drawn.failed
    assert (failure.index, failure.error) == (1, "ArithmeticError: two lines")
    assert "in fails" in failure.traceback


def test_a_failed_draw_is_raised_with_its_number():
    with pytest.raises(ArithmeticError, match="two") as caught:
        make_draws([square(2), fails], on_error="raise")
    assert caught.value.__notes__ == ["raised in draw 1; on_error='report' would keep the others."]


def test_a_dead_worker_is_raised_if_asked():
    with pytest.raises(TerminatedWorkerError):
        make_draws([lambda: os._exit(1), square(2)], n_jobs=2, on_error="raise")


class NoGenerators(ThreadingBackend):
    """A backend that can only return everything at the end, as some plugins do."""

    supports_return_generator = False


def test_a_backend_without_generators():
    joblib.register_parallel_backend("no_generators", NoGenerators)
    with joblib.parallel_config(backend="no_generators", n_jobs=2):
        assert make_draws([square(k) for k in range(4)]).models == [0, 1, 4, 9]


def test_interrupted_before_any_draw_is_an_interrupt():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_draws([interrupted, square(2)])
    drawn = make_draws([square(2), interrupted, square(3)])
    assert (drawn.models, drawn.interrupted) == ([4], True)


def test_the_estimate_is_shared_by_the_workers(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with joblib.parallel_config(backend="threading", n_jobs=2):
        make_draws([square(k) for k in range(4)], seconds_per_draw=10.0, progress=True)
    assert "estimated 20 s" in capsys.readouterr().err
