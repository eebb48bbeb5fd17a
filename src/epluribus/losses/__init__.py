"""Losses between partitions: found by name, or made with parameters.

`epluribus.losses.vi()` makes a loss, `get("vi")` finds it by name, and `get("vi(cost=0.5)")` does so with a
parameter; `Loss` makes your own. To build in a new loss, add one file to this folder with a maker marked by
`built_in`: every module here is loaded, and its losses are found by name everywhere, including the command
line.
"""

import re
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from epluribus._typing import LossLike
from epluribus._validate import check_choice, shown
from epluribus.losses.base import BUILT_IN, Loss
from epluribus.losses.information import information_distance, nid, nvi, vi, vi_lb
from epluribus.losses.pairs import binder, omari, zero_one

__all__ = [
    "Loss",
    "available",
    "binder",
    "describe",
    "get",
    "information_distance",
    "nid",
    "nvi",
    "omari",
    "vi",
    "vi_lb",
    "zero_one",
]

# Loading a module runs its `built_in` decorators, which enter its losses into `BUILT_IN`.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_FIRST = ("binder", "vi", "nvi", "id", "nid", "omari", "zero_one")
"""The order in which losses are listed; any others follow."""
MATRIX_LOSSES = ("binder", "vi_lb")
"""The losses that a similarity matrix determines without draws ..."""
_MATRIX_ONLY = ("vi_lb",)
"""... and those that draws do not: they are not losses between two partitions."""
_WITH_PARAMETERS = re.compile(r"(?P<name>\w+)\((?P<parameters>.*)\)")


# A dict keeps the order and drops repetitions.
_NAMES = tuple(name for name in dict.fromkeys([*_FIRST, *BUILT_IN]) if name not in _MATRIX_ONLY)


def available() -> tuple[str, ...]:
    """Names of the built-in losses: what `minimize` and other functions take as `loss`.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.available()
    ('binder', 'vi', 'nvi', 'id', 'nid', 'omari', 'zero_one')
    """
    return _NAMES


def describe() -> dict[str, str]:
    """The built-in losses by name, with one line about each.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.describe()["omari"]
    'One minus the adjusted Rand index.'
    """
    return {name: (BUILT_IN[name].__doc__ or name).splitlines()[0] for name in available()}


def get(loss: LossLike) -> Loss:
    """The loss with that name; a `Loss` is returned unchanged.

    Parameters
    ----------
    loss : str or Loss
        A name from `available`, with parameters in parentheses if they are not at their defaults.

    Returns
    -------
    Loss

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.get("vi(cost=0.5)").parameters["cost"]
    0.5
    """
    if not isinstance(loss, str | Loss):
        raise TypeError(f"'loss' must be a name or a Loss; got {shown(loss)}.")
    name = loss if isinstance(loss, str) else loss.name
    if name.partition("(")[0] in _MATRIX_ONLY:
        raise ValueError(
            f"'loss' may be '{name}' only for a similarity matrix: minimize(psm=matrix, loss='{name}'). "
            "With draws use 'vi', the loss that it is a bound of."
        )
    return by_name(loss, _NAMES) if isinstance(loss, str) else loss


def for_matrix(loss: LossLike) -> Loss:
    """The loss if a similarity matrix is enough for it, else an error that says which are."""
    if isinstance(loss, str):
        chosen = by_name(loss, (*available(), *_MATRIX_ONLY))
    else:
        chosen = loss if isinstance(loss, Loss) else get(loss)
    if chosen.family not in MATRIX_LOSSES:
        raise ValueError(
            f"'loss' must be 'binder' or 'vi_lb', perhaps with a cost, for a similarity matrix; the "
            f"expected loss of '{chosen.name}' needs the draws."
        )
    return chosen


def by_name(text: str, names: tuple[str, ...]) -> Loss:
    """The loss with that name, which must be one of `names`, perhaps with parameters."""
    found = _WITH_PARAMETERS.fullmatch(text)
    check_choice(found["name"] if found else text, names, "loss")
    return _make(text)


@lru_cache(maxsize=64)
def _make(text: str) -> Loss:
    """One object per name, so that its functions are compiled and tabulated once."""
    # "vi(cost=0.5)" is split into the name and its parameters; "vi" has none and does not match.
    found = _WITH_PARAMETERS.fullmatch(text)
    make = BUILT_IN[found["name"] if found else text]
    if found is None:
        return make()
    try:
        pairs = (part.split("=") for part in found["parameters"].split(","))
        parameters = {key.strip(): float(value) for key, value in pairs}
    except ValueError:
        raise ValueError(
            f"'loss' must be written like 'vi(cost=0.5)' if it has parameters; got '{text}'."
        ) from None
    # An unknown parameter makes Python raise a TypeError, which names it.
    try:
        return make(**parameters)
    except TypeError as error:
        raise ValueError(
            f"'loss' must have parameters that exist; got '{text}': {error}."
        ) from None
