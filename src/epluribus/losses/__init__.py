"""Losses between partitions: a registry by name, and the makers of those with a parameter."""

from collections.abc import Callable
from functools import lru_cache

from epluribus._typing import LossLike
from epluribus._validate import check_choice
from epluribus.losses.base import Loss
from epluribus.losses.binder import binder
from epluribus.losses.information import information_distance, nid, nvi, vi
from epluribus.losses.rand import omari
from epluribus.losses.zero_one import zero_one

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

_MAKERS: dict[str, Callable[[], Loss]] = {
    "binder": binder,
    "vi": vi,
    "nvi": nvi,
    "id": information_distance,
    "nid": nid,
    "omari": omari,
    "zero_one": zero_one,
}


def available() -> tuple[str, ...]:
    """Names of the losses on board.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.available()
    ('binder', 'vi', 'nvi', 'id', 'nid', 'omari', 'zero_one')
    """
    return tuple(_MAKERS)


def describe() -> dict[str, str]:
    """The losses on board with one line on each.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.losses.describe()["omari"]
    'One minus the adjusted Rand index.'
    """
    return {name: (maker.__doc__ or name).splitlines()[0] for name, maker in _MAKERS.items()}


def get(loss: LossLike) -> Loss:
    """The loss of that name; a `Loss` is returned as it is."""
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"'loss' must be a name or a Loss; got {loss!r}.")
    return _make(check_choice(loss, _MAKERS, "loss"))


@lru_cache(maxsize=32)
def _make(name: str) -> Loss:
    """One object per name, so that what is compiled for it is compiled once."""
    return _MAKERS[name]()
