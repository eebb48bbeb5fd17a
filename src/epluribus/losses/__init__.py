"""Losses between partitions: found by name, or made with parameters.

A new built-in loss is one new file in this folder, with a maker marked by `built_in`: every module here
is loaded, and its losses are found by name everywhere, on the command line too.
"""

import re
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from epluribus._typing import LossLike
from epluribus._validate import check_choice
from epluribus.losses.base import BUILT_IN, Loss
from epluribus.losses.information import information_distance, nid, nvi, vi
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
    "zero_one",
]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_FIRST = ("binder", "vi", "nvi", "id", "nid", "omari", "zero_one")
"""The order in which the losses are listed; others come after."""
_WITH_PARAMETERS = re.compile(r"(?P<name>\w+)\((?P<parameters>.*)\)")


def available() -> tuple[str, ...]:
    """Names of the built-in losses.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.available()
    ('binder', 'vi', 'nvi', 'id', 'nid', 'omari', 'zero_one')
    """
    return tuple(dict.fromkeys([*_FIRST, *BUILT_IN]))


def describe() -> dict[str, str]:
    """The built-in losses with one line on each.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.describe()["omari"]
    'One minus the adjusted Rand index.'
    """
    return {name: (BUILT_IN[name].__doc__ or name).splitlines()[0] for name in available()}


def get(loss: LossLike) -> Loss:
    """The loss of that name; a `Loss` is returned as it is.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.get("vi(cost=0.5)").parameters["cost"]
    0.5
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"'loss' must be a name or a Loss; got {loss!r}.")
    return _make(loss)


@lru_cache(maxsize=64)
def _make(text: str) -> Loss:
    """One object per name, so that what is compiled for it is compiled once."""
    found = _WITH_PARAMETERS.fullmatch(text)
    make = BUILT_IN[check_choice(found["name"] if found else text, available(), "loss")]
    if found is None:
        return make()
    try:
        pairs = (part.split("=") for part in found["parameters"].split(","))
        parameters = {key.strip(): float(value) for key, value in pairs}
    except ValueError:
        raise ValueError(
            f"'loss' must be written like 'vi(cost=0.5)' if it has parameters; got '{text}'."
        ) from None
    try:
        return make(**parameters)
    except TypeError as error:
        raise ValueError(
            f"'loss' must have parameters that exist; got '{text}': {error}."
        ) from None
