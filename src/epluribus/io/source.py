"""What every reader returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["STDIN", "Source"]

STDIN = "-"
"""The name that means standard input."""


class Source(NamedTuple):
    """Labels as they came, and what came with them."""

    labels: Any
    """(draws, items) or (chains, draws, items), of any type, unchecked."""
    items: Sequence[Any] | None = None
    """Names of the items."""
    chains: NDArray[Any] | None = None
    """Chain of each draw, where the labels have two dimensions."""
