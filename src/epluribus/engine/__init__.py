"""The expected loss as a state that changes: what sweeps and joins are made of."""

from epluribus.engine.engine import NO_BOUNDS, Engine, Settings
from epluribus.engine.expected import draw_losses, expected_loss

__all__ = ["NO_BOUNDS", "Engine", "Settings", "draw_losses", "expected_loss"]
