"""What every reader returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["HOW_TO_NAME", "STDIN", "Source", "names_of", "texts_of"]

HOW_TO_NAME = "Draws(data, var='z') names it, or --var z on the command line."
STDIN = "-"
"""The name that means standard input."""


def texts_of(values: Sequence[Any] | NDArray[Any]) -> list[str]:
    """Names as text; whole numbers without a point."""
    return [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in values]


def names_of(values: Sequence[Any] | NDArray[Any]) -> list[str] | None:
    """Names of items as text; None where they only count from 0, which is no name."""
    texts = texts_of(values)
    return None if texts == [str(i) for i in range(len(texts))] else texts


class Source(NamedTuple):
    """Labels as they came, and what came with them."""

    labels: Any
    """(draws, items) or (chains, draws, items), of any type, unchecked."""
    items: Sequence[Any] | None = None
    """Names of the items."""
    chains: NDArray[Any] | None = None
    """Chain of each draw, where the labels have two dimensions."""
    variable: str | None = None
    """What the labels are called where they come from."""
