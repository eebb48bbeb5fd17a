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
    if not isinstance(loss, str | Loss):
        raise TypeError(f"'loss' must be a name or a Loss; got {shown(loss)}.")
    name = as_in_r(loss) if isinstance(loss, str) else loss.name
    if name.partition("(")[0] == _MATRIX_ONLY:
        raise ValueError(
            f"'loss' must be a loss of draws; '{name}' is only for a similarity matrix ('psm'). With draws use 'vi', "
            "the loss that it is a bound of."
        )
    return by_name(name, available()) if isinstance(loss, str) else loss


def as_in_r(text: str) -> str:
    """The name of a loss as we write it, from one that R's package salso may have.

    >>> as_in_r("VI.lb"), as_in_r("omARI"), as_in_r("Binder(a=0.5)"), as_in_r("binder.psm")
    ('vi_lb', 'omari', 'binder(cost=0.5)', 'binder')
    """
    name, bracket, parameters = text.partition("(")
    plain = name.lower().replace(".", "_").removesuffix("_psm")
    parameters = re.sub(r"^\s*a\s*=", "cost=", parameters)
    return plain + bracket + parameters if plain in BUILT_IN else text


def for_matrix(loss: LossLike) -> Loss:
    """The loss if a similarity matrix is enough for it, for VI its bound, else an error that says which are."""
    chosen = by_name(loss, tuple(BUILT_IN)) if isinstance(loss, str) else loss
    if not isinstance(chosen, Loss):
        raise TypeError(f"'loss' must be a name or a Loss; got {shown(loss)}.")
    if chosen.family == "vi":
        return vi_lb(chosen.parameters["cost"])
    if chosen.family not in ("binder", _MATRIX_ONLY):
        raise ValueError(
            f"'loss' must be 'binder' or 'vi_lb', perhaps with a cost, for a similarity matrix; the "
            f"expected loss of '{chosen.name}' needs the draws."
        )
    return chosen


def by_name(text: str, names: tuple[str, ...]) -> Loss:
    """The loss with that name, which must be one of `names`, perhaps with parameters."""
    # "vi(cost=0.5)" is split into the name and its parameters; "vi" has none and does not match.
    found = re.fullmatch(r"(\w+)\((.*)\)", as_in_r(text))
    name, parameters = found.groups() if found else (as_in_r(text), None)
    check_choice(name, names, "loss")
    return _make(name, parameters)


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
