"""Checks of arguments: which one, what is allowed, what came, and the way out."""

import difflib
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["check_choice", "check_count", "check_positive", "make_rng", "quoted"]


def quoted(names: Iterable[str]) -> str:
    """'a', 'b', 'c'."""
    return ", ".join(f"'{name}'" for name in names)


def check_choice(value: str, allowed: Iterable[str], argument: str) -> str:
    """One of a few names; the error suggests the nearest."""
    names = list(allowed)
    if isinstance(value, str) and value in names:
        return value
    message = f"'{argument}' must be one of {quoted(names)}; got {value!r}."
    near = difflib.get_close_matches(str(value).lower(), names, n=1, cutoff=0.4)
    raise ValueError(message + (f" Did you mean '{near[0]}'?" if near else ""))


def check_count(value: Any, argument: str, *, low: int = 1, way_out: str = "") -> int:
    """A whole number of at least `low`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"'{argument}' must be a whole number; got {value!r}.{way_out}") from None
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"'{argument}' must be a whole number; got {value!r}.{way_out}")
    if number < low:
        raise ValueError(f"'{argument}' must be at least {low}; got {number}.{way_out}")
    return number


def check_positive(value: Any, argument: str) -> float:
    """A finite number above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"'{argument}' must be a number; got {value!r}.") from None
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"'{argument}' must be a finite number above 0; got {value!r}.")
    return number


def make_rng(rng: Any) -> np.random.Generator:
    """The generator behind `rng` (SPEC 7)."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"'rng' must be None, a non-negative integer, a SeedSequence or a Generator; got {rng!r}."
        ) from None
