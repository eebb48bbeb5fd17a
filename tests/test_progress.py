"""What a progress bar says."""

import io

from numba.core import event

from epluribus._parallel import Stopper
from epluribus._progress import COMPILING, make_progress


class Screen(io.StringIO):
    """Text that a bar takes for a terminal."""

    def isatty(self):
        return True


def test_bar_says_that_functions_are_compiled_until_the_next_step(monkeypatch):
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
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
