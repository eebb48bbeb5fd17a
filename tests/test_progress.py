"""When a progress bar appears, where, and what it says."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import epluribus as epl
from epluribus._parallel import Stopper
from epluribus._progress import _DELAY, Progress


class Screen(io.StringIO):
    """Text that a bar takes for a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def stderr(monkeypatch):
    """Puts a terminal or a pipe in the place of stderr; in the test, since pytest changes it before."""

    def put(seen):
        monkeypatch.setattr("sys.stderr", seen)
        return seen

    return put


def test_by_default_a_bar_waits_until_it_is_due(stderr):
    screen = stderr(Screen())
    bar = Progress(None, 5, "work", Stopper())
    bar.show(1, {"loss": 1})
    assert not screen.getvalue()
    assert bar._bar.delay == _DELAY
    bar.close()
    bar = Progress(True, 5, "work", Stopper())
    bar.show(5, {"loss": 1})
    bar._bar.refresh()  # it would wait a moment
    assert "loss=1" in screen.getvalue()
    bar.close()


def is_shown(progress):
    return progress._bar is not None and not progress._bar.disable


@pytest.mark.parametrize("outer", [True, False, None, lambda *_: None])
def test_a_call_inside_another_has_no_bar_of_its_own(stderr, outer):
    stderr(Screen())
    outside = Progress(outer, 5, "outer", Stopper())
    inside = Progress(None, 5, "inner", Stopper())
    assert not is_shown(inside)
    inside.close()
    outside.close()
    after = Progress(None, 5, "next", Stopper())
    assert is_shown(after)
    after.close()


def test_a_progress_that_was_never_closed_silences_no_other(stderr):
    stderr(Screen())
    Progress(False, 5, "failed", Stopper())
    after = Progress(None, 5, "next", Stopper())
    assert is_shown(after)
    after.close()


def test_no_bar_with_false_nor_into_a_pipe(stderr):
    stderr(Screen())
    assert not is_shown(Progress(False, 5, "work", Stopper()))
    pipe = stderr(io.StringIO())
    for wish in (None, True):
        bar = Progress(wish, 5, "work", Stopper())
        bar.show(3, {"loss": 1})
        bar.close()
        assert not is_shown(bar)
    assert not pipe.getvalue()


def test_functions_show_no_bar_where_they_are_told_not_to(stderr):
    screen = stderr(Screen())
    z = np.random.default_rng(1).integers(3, size=(10, 30))
    best = epl.minimize(z, rng=1, progress=False)
    epl.uncertainty.stability(z, rng=1, progress=False)
    epl.modes(z, rng=1, progress=False)
    epl.certificate(best, z, progress=False)
    epl.psm(z, progress=False)
    assert not screen.getvalue()
    epl.minimize(z, rng=1, progress=True)
    assert "minimize vi" in screen.getvalue()


def test_a_notebook_has_a_bar_of_its_own_although_it_is_no_terminal(stderr, monkeypatch):
    """Without ipywidgets, as here, tqdm gives the bar of a terminal: without a warning."""
    pipe = stderr(io.StringIO())
    shell = SimpleNamespace(kernel=object(), config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    for name in ("tqdm.auto", "tqdm.autonotebook", "tqdm.notebook"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    bar = Progress(True, 5, "work", Stopper())
    assert "work" in pipe.getvalue()
    bar.close()
    before = pipe.getvalue().count("work")
    del shell.kernel  # IPython in a terminal: the usual rule
    Progress(True, 5, "work", Stopper()).close()
    assert pipe.getvalue().count("work") == before
