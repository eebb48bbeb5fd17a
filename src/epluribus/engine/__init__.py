"""The expected loss as a state that changes: the basis of sweeps and joins.

`expected_loss` is the public function; the search works on an `Engine`, which answers what each possible move
or join would cost, and carries it out.
"""

from epluribus.engine.engine import Engine
from epluribus.engine.expected import draw_losses, expected_loss
from epluribus.engine.partial import PartialEngine, engine_for, make_engine
from epluribus.engine.settings import NO_BOUNDS, Settings

__all__ = [
    "NO_BOUNDS",
    "Engine",
    "PartialEngine",
    "Settings",
    "draw_losses",
    "engine_for",
    "expected_loss",
    "make_engine",
]
