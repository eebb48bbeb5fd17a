"""Losses between partitions: found by name, or made with parameters.

`epluribus.losses.vi()` makes a loss, `get("vi")` finds it by name, and `get("vi(cost=0.5)")` does so with a
parameter; `Loss` makes your own. To build in a new loss, add its maker to the table in `built_in`: it is then
found by name everywhere, including the command line.
"""

import re
from functools import lru_cache
from inspect import signature

from epluribus._typing import LossLike
from epluribus._validate import check_choice, quoted, shown
from epluribus.losses.base import BUILT_IN, Loss
from epluribus.losses.built_in import (
    binder,
    information_distance,
    nid,
    nvi,
    omari,
    vi,
    vi_lb,
    zero_one,
)

__all__ = [
    "Loss", "available", "binder", "describe", "get", "information_distance", "nid", "nvi", "omari", "vi",
    "vi_lb", "zero_one",
]  # fmt: skip

_MATRIX_ONLY = "vi_lb"
"""Determined by a similarity matrix, as Binder's loss is, but not a loss between two partitions."""


def available() -> tuple[str, ...]:
    """Names of the built-in losses: what `minimize` and other functions take as `loss`.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.available()
    ('binder', 'vi', 'nvi', 'id', 'nid', 'omari', 'zero_one')
    """
    return tuple(name for name in BUILT_IN if name != _MATRIX_ONLY)


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
        A name from `available`, with parameters in parentheses if they are not at their defaults. The names of
        R's package salso are understood too: "VI", "omARI", "VI.lb", "binder(a=0.5)".

    Returns
    -------
    Loss

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.get("vi(cost=0.5)").parameters["cost"]
    0.5
    """
    chosen = by_name(loss)
    if chosen.name.partition("(")[0] == _MATRIX_ONLY:
        raise ValueError(
            f"'loss' must be a loss of draws; '{chosen.name}' is only for a similarity matrix ('psm'). With draws use "
            "'vi', the loss that it is a bound of."
        )
    return chosen


def for_matrix(loss: LossLike) -> Loss:
    """The loss if a similarity matrix is enough for it, for VI its bound, else an error that says which are."""
    chosen = by_name(loss, _MATRIX_ONLY)
    if chosen.family == "vi":
        return vi_lb(chosen.parameters["cost"])
    if chosen.family not in ("binder", _MATRIX_ONLY):
        raise ValueError(
            f"'loss' must be 'binder' or 'vi_lb', perhaps with a cost, for a similarity matrix; the "
            f"expected loss of '{chosen.name}' needs the draws."
        )
    return chosen


def by_name(loss: LossLike, *more: str) -> Loss:
    """The built-in loss with that name, perhaps with parameters; a message names `more` than those of draws.

    >>> by_name("VI.lb"), by_name("omARI"), by_name("Binder(a=0.5)")  # as R's package salso has them
    (Loss('vi_lb'), Loss('omari'), Loss('binder(cost=0.5)'))
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(
            f"'loss' must be a name or a Loss, which epluribus.Loss makes of functions; got {shown(loss)}."
        )
    # "vi(cost=0.5)" is split into the name and its parameters; "vi" has none.
    found = re.fullmatch(r"([\w.]+)\((.*)\)", loss)
    name, parameters = found.groups() if found else (loss, None)
    plain = name.lower().replace(".", "_")
    if plain not in BUILT_IN:
        check_choice(name, (*available(), *more), "loss")
    return _make(plain, parameters and re.sub(r"^\s*a\s*=", "cost=", parameters))


@lru_cache(maxsize=64)
def _make(name: str, parameters: str | None) -> Loss:
    """One object per name and parameters, so that its functions are compiled and tabulated once."""
    make = BUILT_IN[name]
    if parameters is None:
        return make()
    text = f"{name}({parameters})"
    try:
        pairs = (part.split("=") for part in parameters.split(","))
        values = {key.strip(): float(value) for key, value in pairs}
    except ValueError:
        raise ValueError(
            f"'loss' must be written like 'vi(cost=0.5)' if it has parameters; got '{text}'."
        ) from None
    known = list(signature(make).parameters)
    if not set(values) <= set(known):
        which = (
            f"must have {quoted(known)} as its parameter" if known else "must be without parameters"
        )
        raise ValueError(f"'loss' {which} if it is '{name}'; got '{text}'.")
    return make(**values)


def __dir__() -> list[str]:
    """What the tab key offers."""
    return __all__
