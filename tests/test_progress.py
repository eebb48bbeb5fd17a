"""When a progress bar appears, where, and what it says."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event

import epluribus as epl
from epluribus import _progress
from epluribus._parallel import Stopper
from epluribus._progress import COMPILING, DELAY, make_progress


class Screen(io.StringIO):
    """Text that a bar takes for a terminal."""

    def isatty(self):
        return True


class Clock:
    """Stands in for `threading.Timer`: it is due when the test says so."""

    made = ()

    def __init__(self, delay, call):
        self.delay, self.call, self.started, self.canceled = delay, call, False, False
        Clock.made = (*Clock.made, self)

    def start(self):
        self.started = True

    def cancel(self):
        self.canceled = True


@pytest.fixture(autouse=True)
def stderr(monkeypatch):
    """Puts a terminal or a pipe in the place of stderr; in the test, since pytest changes it before."""
    Clock.made = ()
    monkeypatch.setattr(_progress.threading, "Timer", Clock)

    def put(seen):
        monkeypatch.setattr("sys.stderr", seen)
        return seen

    return put


def test_bar_says_that_functions_are_compiled_until_the_next_step(stderr):
    screen = stderr(Screen())
    bar = make_progress(True, 5, "work", Stopper())
    assert COMPILING not in screen.getvalue()
    with event.trigger_event("numba:compile"):
        assert COMPILING in screen.getvalue()
    screen.truncate(0)
    bar.show(5, {"loss": 1})
    bar._bar.refresh()  # it would wait a moment
    assert "loss=1" in screen.getvalue()
    assert COMPILING not in screen.getvalue()
    bar.close()
    screen.truncate(0)
    with event.trigger_event("numba:compile"):
        assert not screen.getvalue()


def test_by_default_a_bar_waits_until_it_is_due_even_if_no_step_is_done(stderr):
    screen = stderr(Screen())
    bar = make_progress(None, 5, "work", Stopper())
    with event.trigger_event("numba:compile"):
        pass
    assert not screen.getvalue()
    (clock,) = Clock.made
    assert (clock.delay, clock.started) == (DELAY, True)
    clock.call()
    assert "work" in screen.getvalue()
    assert COMPILING in screen.getvalue()
    bar.close()
    assert clock.canceled
    screen.truncate(0)
    clock.call()  # too late: the work has ended
    assert not screen.getvalue()


@pytest.mark.parametrize("outer", [True, False, None, lambda *_: None])
def test_a_call_inside_another_has_no_bar_of_its_own(stderr, outer):
    stderr(Screen())
    outside = make_progress(outer, 5, "outer", Stopper())
    before = len(Clock.made)
    inside = make_progress(None, 5, "inner", Stopper())
    assert len(Clock.made) == before
    inside.close()
    outside.close()
    after = make_progress(None, 5, "next", Stopper())
    assert len(Clock.made) == before + 1
    after.close()


def test_a_progress_that_was_never_closed_silences_no_other(stderr):
    stderr(Screen())
    make_progress(False, 5, "failed", Stopper())
    make_progress(None, 5, "next", Stopper()).close()
    assert len(Clock.made) == 1


def test_no_bar_with_false_nor_into_a_pipe(stderr):
    stderr(Screen())
    make_progress(False, 5, "work", Stopper()).close()
    pipe = stderr(io.StringIO())
    for wish in (None, True):
        bar = make_progress(wish, 5, "work", Stopper())
        bar.show(3, {"loss": 1})
        bar.close()
    assert not Clock.made
    assert not pipe.getvalue()


def test_functions_show_no_bar_where_they_are_told_not_to(stderr):
    screen = stderr(Screen())
    z = np.random.default_rng(1).integers(3, size=(10, 30))
    best = epl.minimize(z, rng=1, progress=False)
    epl.stability(z, rng=1, progress=False, n_seeds=1)
    epl.modes(z, rng=1, progress=False)
    epl.certificate(best, z, progress=False)
    epl.psm(z, progress=False)
    assert not Clock.made
    epl.minimize(z, rng=1)  # reading, then searching
    assert len(Clock.made) == 2
    assert not screen.getvalue()


def test_a_notebook_has_a_bar_of_its_own_although_it_is_no_terminal(stderr, monkeypatch):
    """Without ipywidgets, as here, tqdm gives the bar of a terminal: without a warning."""
    pipe = stderr(io.StringIO())
    shell = SimpleNamespace(kernel=object(), config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    for name in ("tqdm.auto", "tqdm.autonotebook", "tqdm.notebook"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    bar = make_progress(True, 5, "work", Stopper())
    assert "work" in pipe.getvalue()
    bar.close()
    del shell.kernel  # IPython in a terminal: the usual rule
    assert make_progress(True, 5, "work", Stopper())._bar.disable
