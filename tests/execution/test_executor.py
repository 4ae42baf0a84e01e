import os
import time

import joblib
import numpy as np
import pytest
import sklearn
from joblib.externals.loky.process_executor import _ExecutorManagerThread
from joblib.parallel import ThreadingBackend
from threadpoolctl import threadpool_info, threadpool_limits

from nearbayes.execution.executor import Limit, gather, one_thread, timed_on_one_thread
from nearbayes.execution.executors import executor_of


def do(task, items, shared=None, n_jobs=None, runs_in="processes", executor=None, **options):
    where = executor_of(executor, n_jobs, runs_in, "limit" in options)
    return gather(where, task, shared, items, **options)


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
    with pytest.raises(RuntimeError, match="worker process died"):
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


def process_of(shared, k):
    return os.getpid()


def test_names_choose_where_tasks_run():
    here = os.getpid()
    for name, elsewhere in [("serial", False), ("threads", False), ("processes", True)]:
        found = values(do(process_of, range(3), n_jobs=2, executor=name))
        assert (here not in found.values()) == elsewhere, name
    with pytest.raises(ValueError, match=r"executor must be None, one of serial, .* got 'spark'"):
        executor_of("spark")
    with pytest.raises(ValueError, match="draw_timeout and draw_memory need workers that can be"):
        executor_of("threads", limited=True)


class DiesOnce:
    """Ends its process the first time that items are tried, and no other time."""

    def __init__(self, folder, items):
        self.folder, self.items = folder, items

    def __call__(self, shared, k):
        mark = os.path.join(self.folder, str(k))
        if k in self.items and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), 9)
        return k, os.getpid()


def test_items_of_dead_workers_are_tried_again_in_parallel(tmp_path):
    found = values(do(DiesOnce(str(tmp_path), {0, 1, 5}), range(12), n_jobs=2))
    assert {k: value[0] for k, value in found.items()} == {k: k for k in range(12)}
    assert len({process for _, process in found.values()}) > 1  # not one after the other in one


def hangs_at_one(shared, k):
    if k == 1:
        time.sleep(600)
    return k, os.getpid()


def test_a_task_that_hangs_is_ended_and_the_others_are_done():
    started = time.perf_counter()
    found = do(hangs_at_one, range(6), n_jobs=2, limit=Limit(0.5))
    assert {k: value[0] for k, value in values(found).items()} == {k: k for k in (0, 2, 3, 4, 5)}
    assert "took longer than draw_timeout allows (0.5 s)" in found.lost[1].error
    assert time.perf_counter() - started < 60


def test_one_worker_with_a_limit_is_a_process_and_sizes_share_the_limit():
    found = do(lambda shared, k: time.sleep(k), [0.0, 0.6, 30.0], limit=Limit(0.5), sizes=[1, 4, 1])
    assert set(found.done) == {0.0, 0.6}
    assert set(found.lost) == {30.0}


def takes_memory(shared, k):
    """Hold 300 MB where k is 1; 200 MB of what is shared cost nothing."""
    held = np.ones(int(300e6 / 8) if k == 1 else 10)
    time.sleep(0.5)
    return float(held[0] + shared.sum())


def test_a_task_that_takes_too_much_memory_is_ended_and_the_others_are_done():
    shared = np.zeros(int(200e6 / 8))
    found = do(takes_memory, range(4), shared, n_jobs=2, limit=Limit(memory=150e6))
    assert set(found.done) == {0, 2, 3}
    assert "took more memory than draw_memory allows (0.15 GB)" in found.lost[1].error


class UnpicklableError(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def test_errors_come_back_from_processes_even_if_they_do_not_pickle():
    def task(shared, k):
        raise UnpicklableError("one", "two")

    found = do(task, [0, 1], n_jobs=2)
    assert "one and two" in found.lost[0].error
    with pytest.raises(RuntimeError, match="one and two"):
        do(task, [0, 1], n_jobs=2, on_error="raise")


def test_a_worker_may_be_stopped_before_its_task_was_taken(monkeypatch):
    """The thread of loky that hands out tasks may be slow; it must not fail (a warning here)."""
    wakes = _ExecutorManagerThread.wait_result_broken_or_wakeup

    def slowly(self):
        found = wakes(self)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(_ExecutorManagerThread, "wait_result_broken_or_wakeup", slowly)
    with pytest.raises(ZeroDivisionError):
        do(lambda shared, k: 1 // 0, range(4), n_jobs=2, on_error="raise")


def test_a_result_that_does_not_pickle_is_lost_alone():
    found = do(lambda shared, k: (i for i in range(k)) if k else 0, [0, 1], n_jobs=2)
    assert set(found.done) == {0}
    assert "pickle" in found.lost[1].error


class Breaks(ThreadingBackend):
    """A backend that fails while tasks run, as clusters do that lose a worker."""

    supports_return_generator = False
    breaks = 0

    def effective_n_jobs(self, n_jobs):
        return 2

    def configure(self, *arguments, **options):
        type(self).breaks -= 1
        if type(self).breaks >= 0:
            raise ConnectionError("worker 3 is gone")
        return super().configure(*arguments, **options)


@pytest.mark.parametrize("breaks", [1, 2])
def test_any_error_of_an_unknown_backend_is_survived(breaks):
    joblib.register_parallel_backend("breaks", Breaks)
    with joblib.parallel_config(backend="breaks", n_jobs=2):
        Breaks.breaks = breaks
        assert values(do(square, range(4))) == {0: 0, 1: 1, 2: 4, 3: 9}
        Breaks.breaks = 3
        found = do(square, range(4))
    assert values(found) == {1: 1, 2: 4, 3: 9}
    assert "worker 3 is gone" in found.lost[0].error


def test_a_cluster_of_one_worker_warns():
    joblib.register_parallel_backend("no_generators", NoGenerators)
    with (
        joblib.parallel_config(backend="no_generators"),
        pytest.warns(UserWarning, match="NoGenerators resolves to one worker"),
    ):
        assert values(do(square, range(2))) == {0: 0, 1: 1}


def test_no_task_begins_that_would_end_after_the_time():
    from nearbayes.execution.deadline import end_by, moment_to_end

    def slow(shared, item):
        time.sleep(0.05)
        return moment_to_end()

    with end_by(0.22):
        found = gather(
            executor_of("serial", None, "processes"), slow, None, list(range(50)), progress=False
        )
    assert 2 <= len(found.done) <= 4
    assert {done.value for done in found.done.values()} == {None}  # tasks within are done whole
    assert not found.interrupted
    with end_by(0.0):
        assert (
            len(
                gather(
                    executor_of("serial", None, "processes"), slow, None, [1, 2, 3], progress=False
                ).done
            )
            == 2
        )
