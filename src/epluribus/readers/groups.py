"""Partitions as networkx and its kin have them: lists of sets of nodes, or nodes with labels."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.readers.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["from_groups", "is_groups"]


def is_groups(z: Any) -> bool:
    """Whether every draw is a list of sets, or a mapping from items to labels."""
    return isinstance(z, list | tuple) and bool(z) and all(_is_partition(draw) for draw in z)


def _is_partition(draw: Any) -> bool:
    if isinstance(draw, Mapping):
        return True
    return (
        isinstance(draw, list | tuple) and bool(draw) and all(isinstance(one, Set) for one in draw)
    )


def from_groups(z: Sequence[Any], argument: str = "z") -> Source:
    """Labels, one draw a row, items sorted; their names, unless they are 0, 1, 2, ..."""
    draws = [_as_mapping(draw, t, argument) for t, draw in enumerate(z)]
    items = list(draws[0])
    try:
        items.sort()
    except TypeError:  # numbers and words
        items.sort(key=str)
    for t, draw in enumerate(draws):
        odd = draw.keys() ^ draws[0].keys()
        if odd:
            raise ValueError(
                f"'{argument}' must have the same items in every draw; "
                f"{min(odd, key=str)!r} is in one of draws 0 and {t} only."
            )
    labels = [[draw[item] for item in items] for draw in draws]
    counted = all(isinstance(item, int | np.integer) for item in items)
    plain = counted and items == list(range(len(items)))
    return Source(labels, None if plain else [str(item) for item in items])


def _as_mapping(draw: Any, t: int, argument: str) -> dict[Any, Any]:
    """The label of each item."""
    if isinstance(draw, Mapping):
        return dict(draw)
    found: dict[Any, Any] = {}
    for label, group in enumerate(draw):
        for item in group:
            if item in found:
                raise ValueError(
                    f"'{argument}' must hold partitions; in draw {t} {item!r} is in two sets."
                )
            found[item] = label
    return found
