"""How every move works on every model: five functions, chosen by the class of the model's state.

A model is a NamedTuple of arrays (its *state*) and five functions on it. S is the set of items
assigned so far and p the partition of S:

    reset(m)               statistics of the empty set
    prepare(m, p, i)       i is unassigned: fill the scratch that `logpred` and `add` read
    logpred(m, p, i, g)    log p(Y of S and i | i in g) - log p(Y of S | p); g in use or next new
    add(m, p, i, g)        update the statistics; the same difference. g is in use, perhaps empty
    remove(m, p, i, g)     the inverse; the same difference; leaves i prepared

`sizes` never counts i in these calls, and its label is -1 (`add` is called before it is counted,
`remove` after).

The moves call the functions of this module. In compiled code Numba's `overload` replaces the call
by the model's own function at compile time; in plain Python the same table is read at run time.
Unlike closures over compiled functions, calls resolved this way are served from the disk cache.
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload, register_jitable

__all__ = ["add", "implement", "logpred", "part", "prepare", "remove", "reset", "routine"]

part = register_jitable(error_model="numpy", forceinline=True)
"""Decorator of a small part of a kernel: plain when Python calls it, compiled when a kernel does.

Always inlined: a call would copy, and count the references of, every array of the state (3x slower
in all)."""

routine = register_jitable(error_model="numpy")
"""The same for a longer part: compiled once and called, which keeps compilation short."""

_PRIMITIVES = ("reset", "prepare", "logpred", "add", "remove")
_TABLE: dict[type, dict[str, Callable[..., Any]]] = {}


def implement(state: type, **functions: Callable[..., Any]) -> None:
    """Register the five functions of a model for its state class."""
    missing = [name for name in _PRIMITIVES if name not in functions]
    unknown = [name for name in functions if name not in _PRIMITIVES]
    if missing or unknown:
        raise TypeError(
            f"'{state.__name__}' must implement exactly {', '.join(_PRIMITIVES)}; "
            f"missing: {missing or 'none'}, unknown: {unknown or 'none'}."
        )
    _TABLE[state] = dict(functions)


def reset(m: Any) -> None:
    """Statistics of the empty set."""
    _TABLE[type(m)]["reset"](m)


def prepare(m: Any, p: Any, i: int) -> None:
    """Fill the scratch for the unassigned item i."""
    _TABLE[type(m)]["prepare"](m, p, i)


def logpred(m: Any, p: Any, i: int, g: int) -> float:
    """Log predictive probability of item i in cluster g."""
    value: float = _TABLE[type(m)]["logpred"](m, p, i, g)
    return value


def add(m: Any, p: Any, i: int, g: int) -> float:
    """Put item i into the statistics of cluster g; its log predictive probability."""
    value: float = _TABLE[type(m)]["add"](m, p, i, g)
    return value


def remove(m: Any, p: Any, i: int, g: int) -> float:
    """Take item i out of the statistics of cluster g; its log predictive probability."""
    value: float = _TABLE[type(m)]["remove"](m, p, i, g)
    return value


@overload(reset, jit_options={"error_model": "numpy", "forceinline": True}, strict=False)
def _reset(m: Any) -> Any:
    return _TABLE[m.instance_class]["reset"]


@overload(prepare, jit_options={"error_model": "numpy", "forceinline": True}, strict=False)
def _prepare(m: Any, p: Any, i: Any) -> Any:
    return _TABLE[m.instance_class]["prepare"]


@overload(logpred, jit_options={"error_model": "numpy", "forceinline": True}, strict=False)
def _logpred(m: Any, p: Any, i: Any, g: Any) -> Any:
    return _TABLE[m.instance_class]["logpred"]


@overload(add, jit_options={"error_model": "numpy", "forceinline": True}, strict=False)
def _add(m: Any, p: Any, i: Any, g: Any) -> Any:
    return _TABLE[m.instance_class]["add"]


@overload(remove, jit_options={"error_model": "numpy", "forceinline": True}, strict=False)
def _remove(m: Any, p: Any, i: Any, g: Any) -> Any:
    return _TABLE[m.instance_class]["remove"]
