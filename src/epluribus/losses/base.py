"""The contract of a loss between partitions.

A loss sees the contingency table of two partitions a and z of N items through three sums (equation 7
of Rastelli & Friel 2018):

    loss(a, z) = f0( sum f1(n_gh), sum f2(n_g), sum f3(n_h), N )

where n_gh counts the items in cluster g of a and cluster h of z, and n_g and n_h are cluster sizes. The
functions f1, f2 and f3 take integers 0..N, so they are tabulated once; f0 is compiled.

All facts about a loss are kept in its `Loss` object: its functions, whether it is linear or a metric, its
name in a sentence, unit, reference and parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels.jit import compile_f0
from epluribus._typing import AnyArray, FloatArray

SizeFunction = Callable[[int], float]

BUILT_IN: dict[str, Callable[..., Loss]] = {}
"""Makers of the built-in losses by name: the table at the end of `built_in`."""
_POINTS = ((3.0, 5.0, 7.0), (11.0, 2.0, 0.5), (0.25, 40.0, 9.0), (1e4, 2e4, 1.5e4))
"""Sums at which f0 is compared with its linear form: off the axes, small and large."""


class LinearForm(NamedTuple):
    """The coefficients of f0 = constant + joint * sum f1 + size * sum f2 + group * sum f3.

    For VI of N items: constant = 0, joint = -2 / N, size = group = 1 / N.
    """

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
        Functions of a count, with value 0 at 0, summed over the cells of the contingency table (f1),
        over the clusters of the estimate (f2), and over the clusters of a draw (f3). Any Python
        function will do: each is called once for every count 0..n_items.
    name : str
        Name to print.
    linear : bool, default False
        Whether f0 is linear in its first three arguments, possibly with a constant. The search is then
        much faster. Checked when the loss is used.
    metric : bool, default False
        Whether the loss is a metric on partitions.
    zero_if_equal : bool, default False
        Whether equal partitions have loss 0; it is then set to exactly 0, free of rounding errors.
    made_by : tuple, optional
        A function and its arguments that make this loss again, for pickle.
    unit : str, default ""
        What it is measured in, such as "bits"; empty for a pure number.
    title : str, optional
        Its name in a sentence, such as "the variation of information (Meila 2007)".
    reference : str, default ""
        Where it was published, with a DOI.
    parameters : mapping, optional
        The parameters with which it was made, by name.

    Examples
    --------
    Variation of information of four items, plus a price of 0.1 for each cluster of the estimate; f0
    divides by the number of items, so f2 multiplies the price by it:

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
    # Not compared: two losses with the same functions are equal, however they were made.
    made_by: tuple[Callable[..., Loss], tuple[Any, ...]] | None = field(default=None, compare=False)
    unit: str = ""
    title: str = ""
    reference: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for name in ("f0", "f1", "f2", "f3"):
            if not callable(getattr(self, name)):
                raise TypeError(f"'{name}' must be a function; got {getattr(self, name)!r}.")

    @property
    def family(self) -> str | None:
        """Name of the built-in loss this is, whatever its parameters; None for a user's own loss."""
        if self.made_by is None or self.made_by[0] not in BUILT_IN.values():
            return None
        original = self.made_by[0](*self.made_by[1])
        # `dataclasses.replace` keeps `made_by` even where it changes a function: the loss is made again and
        # compared.
        fields = ("f1", "f2", "f3", "linear", "metric", "zero_if_equal")
        same = all(getattr(self, name) == getattr(original, name) for name in fields)
        # f0 of VI and Binder is a new closure in each call of the maker; its code is the same object.
        same = same and self.f0.__code__ is original.f0.__code__
        return original.name.partition("(")[0] if same else None

    def with_unit(self, value: str) -> str:
        """The value, already formatted, with the unit: '0.87 bits'."""
        return f"{value} {self.unit}".rstrip()

    def __repr__(self) -> str:
        return f"Loss({self.name!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Functions defined inside a maker cannot be pickled: the maker and its arguments are pickled instead.
        # A changed copy of a built-in loss has no family, and must not come back as the original.
        made_by = self.made_by
        if made_by is not None and (self.family or made_by[0] not in BUILT_IN.values()):
            return made_by
        return super().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Loss:
        return self  # a Loss is immutable, and a copy would be compiled again

    def tables(self, n_items: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Values of f1, f2 and f3 at 0..n_items: three read-only arrays of shape (n_items + 1,)."""
        # The three are often the same function, which then need not be tabulated three times.
        names = {self.f3: "f3", self.f2: "f2", self.f1: "f1"}
        f1, f2, f3 = (_tabulate(f, names[f], n_items) for f in (self.f1, self.f2, self.f3))
        return f1, f2, f3

    def linear_form(self, n_items: int) -> LinearForm:
        """Coefficients of a linear f0 for `n_items` items.

        Raises
        ------
        ValueError
            If f0 is not linear.

        Examples
        --------
        >>> import epluribus as epl
        >>> epl.losses.get("vi").linear_form(4)
        LinearForm(constant=0.0, joint=-0.5, size=0.25, group=0.25)
        """
        # The coefficients of a linear function follow from its values at 0 and at the unit points.
        units = [[0.0, 0.0, 0.0], *np.eye(3).tolist()]
        constant, *at = (self.f0(*unit, n_items) for unit in units)
        form = LinearForm(constant, *(value - constant for value in at))
        # A function that is not linear differs from this form somewhere off the axes.
        for point in _POINTS:
            value = self.f0(*point, n_items)
            terms = [constant, *(c * x for c, x in zip(form[1:], point, strict=True))]
            scale = sum(map(abs, terms))
            if not math.isclose(value, sum(terms), rel_tol=1e-9, abs_tol=1e-9 * scale):
                raise ValueError(
                    f"'linear' must be False for the loss '{self.name}': f0{(*point, n_items)} is "
                    f"{value:.9g}, a linear function through the unit points would give "
                    f"{sum(terms):.9g}."
                )
        return form

    def compiled_f0(self) -> Any:
        """f0 compiled for the kernels, once per process."""
        return _compile(self.f0, self.name, compile_f0)


@lru_cache(maxsize=64)
def _tabulate(function: SizeFunction, field: str, n_items: int) -> FloatArray:
    """The values of a function at 0..n_items, checked; all callers share the array."""
    values = np.fromiter(map(function, range(n_items + 1)), dtype=np.float64)
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
def _compile(f0: Callable[..., float], name: str, compiler: Callable[..., Any]) -> Any:
    """f0 compiled, once for each function; a failure is explained in terms of the loss."""
    try:
        return compiler(f0)
    except Exception as error:
        raise TypeError(
            f"'f0' of the loss '{name}' could not be compiled. It may use arithmetic, 'if' and the "
            f"'math' module only, on four numbers (joint, size, group, n_items). Numba says: {error}"
        ) from error
