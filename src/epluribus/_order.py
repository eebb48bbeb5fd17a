"""One order of arguments: the estimate comes before the draws wherever a function takes both.

Some functions had the draws first in version 0.1.0. They take both orders, with a warning for the old one.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Set
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

ORDER = (
    "The estimate comes before the draws where a function takes both: (best, draws). Others take only "
    "draws."
)
"""The way out named in messages, where draws were given in place of an estimate or the reverse."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def best_first(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function ``f(best, draws, ...)`` be called as ``f(draws, best, ...)`` too, with a warning.

    ``f(draws)`` and ``f(draws, best=best)`` need no warning: nothing is in the wrong order.
    """
    name = f"{function.__module__.split('.')[1]}.{function.__name__}"
    optional = signature(function).parameters["best"].default is None

    @functools.wraps(function)
    def either_order(*args: Any, **named: Any) -> _R:
        # The draws alone, or with the estimate by name; beside a similarity matrix there are no draws.
        alone = len(args) == 1 and not {"draws", "psm"} & named.keys()
        if alone and (optional or "best" in named):
            named["draws"], args = args[0], ()
        elif len(args) > 1 and _likeness(args[1]) > _likeness(args[0]):
            warnings.warn(
                f"{name}(draws, best) is the old order of arguments, which a later version will not "
                f"take: write {name}(best, draws).",
                DeprecationWarning,
                stacklevel=2,
            )
            args = (args[1], args[0], *args[2:])
        return function(*args, **named)

    return either_order


def _likeness(value: Any) -> int:
    """How surely this is one partition, and not draws: from 3, an estimate, to -1, a `Draws`."""
    if hasattr(value, "item_major"):
        return -1
    if hasattr(value, "expected_loss") and hasattr(value, "labels"):
        return 3
    if isinstance(value, str | Path) or value is None:
        return 0
    if isinstance(value, Mapping):  # a label for each item; draws are arrays by name
        return 2 if all(map(np.isscalar, value.values())) else 0
    if isinstance(value, list | tuple) and value and all(isinstance(one, Set) for one in value):
        return 2
    try:
        shape = np.shape(value)
    except (TypeError, ValueError):  # rows of different lengths, or not an array at all
        return 0
    if len(shape) == 1:  # a list of sets or of fitted models is not an array of labels
        return 2 if shape[0] and np.isscalar(np.asarray(value).flat[0]) else 0
    return 1 if len(shape) == 2 and 1 in shape else 0
