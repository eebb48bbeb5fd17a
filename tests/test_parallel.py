"""Threads, the stop flag and Ctrl-C."""

import _thread
import os
import signal
import subprocess
import sys
import threading

import pytest

from epluribus._parallel import Stopper, hearing, run_all, run_tasks

pytestmark = pytest.mark.usefixtures("hears_ctrl_c")


def test_results_come_in_the_order_of_the_tasks():
    first_may_end = threading.Event()

    def first():
        first_may_end.wait()
        return 1

    def second():
        first_may_end.set()
        return 2

    seen = []
    found = run_tasks([first, second], n_jobs=2, stopper=Stopper(), on_done=seen.append)
    assert found == [1, 2]
    assert sorted(seen) == [1, 2]


def test_ctrl_c_as_soon_as_the_first_thread_runs_loses_nothing():
    """The signal comes while the calling thread still hands out tasks: nothing may be raised there."""
    for _ in range(50):
        stopper = Stopper()
        found = run_tasks([_thread.interrupt_main] + [lambda: 1] * 5, n_jobs=2, stopper=stopper)
        assert stopper.interrupted
        assert found[0] is None
        assert set(found[1:]) <= {1}


def test_ctrl_c_again_and_again_loses_nothing():
    """From another process, hundreds of times, also while the thread begins: the work is done once."""
    send = "import os, sys, time\nfor _ in range(300):\n os.kill(int(sys.argv[1]), 2)\n time.sleep(0.002)"
    stopper, done = Stopper(), []

    def work():
        child = subprocess.run([sys.executable, "-c", send, str(os.getpid())], check=True)
        done.append(child.returncode)
        return 7

    assert hearing(work, stopper) == 7
    assert done == [0]
    assert stopper.interrupted


def test_the_handler_of_ctrl_c_is_left_alone():
    seen = run_tasks([lambda: signal.getsignal(signal.SIGINT)], n_jobs=1, stopper=Stopper())
    assert seen == [signal.default_int_handler]


def test_tasks_not_begun_are_left_out_but_the_first_is_done():
    stopper = Stopper()
    stopper.interrupt()
    assert run_tasks([lambda: 1, lambda: 2, lambda: 3], n_jobs=1, stopper=stopper)[0] == 1


def test_an_error_in_a_task_is_raised():
    with pytest.raises(ZeroDivisionError):
        run_tasks([lambda: 1 / 0, lambda: 2], n_jobs=2, stopper=Stopper())


def test_ctrl_c_is_raised_where_half_the_work_is_of_no_use():
    with pytest.raises(KeyboardInterrupt):
        run_all([_thread.interrupt_main])


def test_an_ignored_ctrl_c_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopper = Stopper()
    run_tasks([lambda: signal.raise_signal(signal.SIGINT)], n_jobs=1, stopper=stopper)
    assert not stopper.interrupted
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_task_that_does_not_look_at_the_flag_is_left_to_itself():
    ended = threading.Event()

    def task():
        _thread.interrupt_main()
        ended.wait()

    assert hearing(task, Stopper(), leave=True) is None
    ended.set()
    assert hearing(lambda: 3, Stopper(), leave=True) == 3


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_share_of_the_time_ends_without_ending_the_rest(interrupted):
    stopper = Stopper(1000)
    with stopper.for_a_share(1e-12) as part:
        assert part.stopped  # the flag is passed on to kernels
        assert part.flag[0] == 1
        if interrupted:
            part.interrupt()
    assert stopper.stopped == interrupted
    assert 500 < stopper.left <= 1000
    with Stopper().for_a_share(0.5) as part:
        assert not part.stopped
