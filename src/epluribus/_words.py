"""Numbers in sentences: plural, share, the unit of a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from epluribus.losses.base import Loss

__all__ = ["count", "percent", "unit", "with_unit"]

_UNITS = {"vi": "bits", "id": "bits", "binder": "pairs of items"}


def count(n: int, noun: str) -> str:
    """'1 cluster', '2 clusters'."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """'61 %', never rounded to 0 or 100."""
    if 0 < share < 0.01:
        return "below 1 %"
    return "above 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def unit(loss: Loss) -> str:
    """What the loss counts: 'bits', 'pairs of items', or '' where it is a pure number."""
    return _UNITS.get(loss.name.partition("(")[0], "")


def with_unit(value: str, loss: Loss) -> str:
    """'0.87 bits'."""
    return f"{value} {unit(loss)}".rstrip()
