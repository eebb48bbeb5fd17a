"""The contract of a loss between partitions.

A loss sees the contingency table of two partitions a and z of N items through three sums (equation
10 of Rastelli & Friel 2018):

    loss(a, z) = f0( sum f1(n_gh), sum f2(n_g), sum f3(n_h), N )

n_gh counts the items in cluster g of a and h of z, n_g and n_h are cluster sizes. The functions f1,
f2, f3 take whole numbers 0..N, so they are tabulated once; f0 is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus._kernels.sweep import compile_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LinearForm", "Loss"]

SizeFunction = Callable[[int], float]


class LinearForm(NamedTuple):
    """f0 = constant + joint * sum f1 + size * sum f2 + group * sum f3."""

    constant: float
    joint: float
    size: float
    group: float


@dataclass(frozen=True, repr=False)
class Loss:
    """A loss between two partitions, made of four plain functions.

    Parameters
    ----------
    f0 : callable
        ``f0(joint, size, group, n_items)``: the loss from the three sums. It is compiled with
        Numba, so it may use arithmetic, `if`, and the `math` module.
    f1, f2, f3 : callable
        Functions of a count, with value 0 at 0, summed over the cells of the contingency table,
        over the clusters of the estimate, and over the clusters of a draw. Any Python function will
        do: each is called once for every count 0..n_items.
    name : str
        Name to print.
    linear : bool, default False
        Whether f0 is linear in its first three arguments. The search is then much faster. Checked
        when the loss is used.
    metric : bool, default False
        Whether the loss is a metric on partitions.
    zero_if_equal : bool, default False
        Whether equal partitions have loss 0; it is then exactly 0, free of rounding.
    made_by : tuple, optional
        A function and its arguments that make this loss again, for pickle.

    Examples
    --------
    Variation of information, plus a price of 0.1 for each cluster of the estimate:

    >>> import math
    >>> import epluribus as epl
    >>> def xlogx(n):
    ...     return n * math.log2(n) if n else 0.0
    >>> def with_price(n):
    ...     return xlogx(n) + 0.1 * 4 * (n > 0)
    >>> def f0(joint, size, group, n_items):
    ...     return (size + group - 2 * joint) / n_items
    >>> priced = epl.Loss(f0, xlogx, with_price, xlogx, name="priced vi", linear=True)
    >>> round(epl.loss([0, 0, 1, 1], [0, 0, 1, 1], priced), 6)
    0.2
    """

    f0: Callable[..., float]
    f1: SizeFunction
    f2: SizeFunction
    f3: SizeFunction
    name: str = "custom"
    linear: bool = False
    metric: bool = False
    zero_if_equal: bool = False
    made_by: tuple[Callable[..., Loss], tuple[Any, ...]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("f0", "f1", "f2", "f3"):
            if not callable(getattr(self, name)):
                raise TypeError(f"'{name}' must be a function; got {getattr(self, name)!r}.")

    def __repr__(self) -> str:
        return f"Loss({self.name!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.made_by or super().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Loss:
        return self  # it cannot change, and a copy would be compiled again

    def tables(self, n_items: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Values of f1, f2, f3 at 0..n_items."""
        return tuple(  # type: ignore[return-value]
            _tabulate(getattr(self, field), field, n_items) for field in ("f1", "f2", "f3")
        )

    def linear_form(self, n_items: int) -> LinearForm:
        """Coefficients of a linear f0 for `n_items` items; an error if f0 is not linear."""
        f0 = self.f0
        constant = f0(0.0, 0.0, 0.0, n_items)
        form = LinearForm(
            constant,
            f0(1.0, 0.0, 0.0, n_items) - constant,
            f0(0.0, 1.0, 0.0, n_items) - constant,
            f0(0.0, 0.0, 1.0, n_items) - constant,
        )
        for point in ((3.0, 5.0, 7.0), (11.0, 2.0, 0.5), (0.25, 40.0, 9.0), (1e4, 2e4, 1.5e4)):
            value = f0(*point, n_items)
            expected = constant + sum(c * x for c, x in zip(form[1:], point, strict=True))
            scale = abs(constant) + sum(abs(c * x) for c, x in zip(form[1:], point, strict=True))
            if not math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9 * scale):
                raise ValueError(
                    f"'linear' must be False for the loss '{self.name}': f0{(*point, n_items)} is "
                    f"{value:.9g}, a linear function through the unit points would give {expected:.9g}."
                )
        return form

    def compiled_row(self) -> Any:
        """f0 compiled for the kernels."""
        return _compile(self.f0, self.name)


@lru_cache(maxsize=64)
def _tabulate(function: SizeFunction, field: str, n_items: int) -> NDArray[np.float64]:
    """function(0..n_items), checked."""
    values = np.array([function(n) for n in range(n_items + 1)], dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(
            f"'{field}' must return finite numbers; {field}({bad[0]}) gave {values[bad[0]]}."
        )
    if values[0] != 0.0:
        raise ValueError(
            f"'{field}' must be 0 at 0, so that empty clusters count nothing; "
            f"{field}(0) gave {values[0]}."
        )
    values.flags.writeable = False
    return values


@lru_cache(maxsize=64)
def _compile(f0: Callable[..., float], name: str) -> Any:
    try:
        return compile_row(f0)
    except Exception as error:
        raise TypeError(
            f"'f0' of the loss '{name}' could not be compiled. It may use arithmetic, 'if' and the "
            f"'math' module only, on four numbers (joint, size, group, n_items). Numba says: {error}"
        ) from error
