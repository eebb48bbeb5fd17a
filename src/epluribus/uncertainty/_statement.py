"""The posterior probability of a statement about which items are together and which are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._text import count, sentence_list
from epluribus._typing import DrawsLike, IntArray
from epluribus._validate import shown
from epluribus.draws import Draws, as_draws
from epluribus.uncertainty._error import mean_with_error, plus_minus

_NAMED = 6
"""Items of a group that are named when the statement is printed; of more only their number is given."""


@dataclass(frozen=True)
class Probability:
    """Posterior probability of a statement about items, with its Monte Carlo standard error."""

    probability: float
    """Share of the draws, by weight, in which the statement holds."""
    standard_error: float
    """Of the probability, from the effective sample size; NaN with fewer than 4 draws per chain. It is 0 if
    the statement holds in all draws or in none, which does not make it certain or impossible."""
    ess: float
    """Effective number of independent draws behind the probability."""
    statement: str
    """What holds, in words."""

    def __float__(self) -> float:
        return self.probability

    def __str__(self) -> str:
        value = plus_minus(self.probability, self.standard_error)
        return f"{self.statement}: probability {value}"


def probability(
    draws: DrawsLike,
    *,
    together: Sequence[Any] | None = None,
    apart: Sequence[Any] | None = None,
) -> Probability:
    """Posterior probability that some items share a cluster, and that others do not.

    In a paper: *the posterior probability that Ann and Bob are in one cluster, and Cy in another, is 0.83*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    together : sequence of items, or of such sequences, optional
        Items that are all in one cluster; with several groups, each group in one cluster, and two groups
        perhaps in the same.
    apart : sequence of items, or of such sequences, optional
        Items that are in different clusters, any two of them; with several groups, this is said of each.

    Returns
    -------
    Probability
        A number (`float(found)`) with its standard error.

    Notes
    -----
    An item is its number, counted from 0, or its name if the draws have names. All that is given must hold
    at once. To state a partial partition, put its clusters into `together`, and one item of each cluster
    into `apart`. Time O(n_distinct m) for m items in all.

    Examples
    --------
    >>> import epluribus as epl
    >>> z = [[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 1], [0, 1, 1, 1]]
    >>> draws = epl.Draws(z, items=["ann", "bob", "cy", "dee"])
    >>> epl.probability(draws, together=["ann", "bob"]).probability
    0.75
    >>> found = epl.probability(draws, together=["ann", "bob"], apart=["bob", "cy", "dee"])
    >>> found.probability, found.statement
    (0.25, 'ann and bob are together; bob, cy and dee are apart')
    >>> float(epl.probability(draws, together=[["ann", "bob"], ["cy", "dee"]]))
    0.25
    """
    sample = as_draws(draws)
    same = _groups(together, "together", sample)
    different = _groups(apart, "apart", sample)
    if not same and not different:
        raise ValueError("'together' or 'apart' must name items; neither is given.")
    if sample.has_missing:
        sample = _that_saw(sample, np.unique(np.concatenate([*same, *different])))
    holds = statement_holds(sample, same, different)
    words = [
        *(f"{_name(group, sample)} are together" for group in same),
        *(f"{_name(group, sample)} are apart" for group in different),
    ]
    return Probability(*mean_with_error(holds.astype(np.float64), sample), "; ".join(words))


def _that_saw(draws: Draws, items: IntArray) -> Draws:
    """The draws that have labels for all of the items: only these can say anything about them."""
    saw = np.flatnonzero(np.all(draws.store.rows(items) > 0, axis=0).ravel()[draws.index])
    if len(saw) == 0:
        names = sentence_list([draws.item_names[i] for i in items[:_NAMED].tolist()])
        raise ValueError(
            f"'draws' must have labels for all of the items {names} in some draw; none has."
        )
    return draws[saw]


def statement_holds(
    draws: Draws, together: Sequence[IntArray], apart: Sequence[IntArray]
) -> NDArray[np.bool_]:
    """(n_distinct,) whether the statement holds in each distinct draw."""
    holds = np.ones(draws.n_distinct, dtype=np.bool_)
    for group in together:
        labels = draws.store.rows(group)
        holds &= (labels == labels[0]).all(axis=0)
    for group in apart:
        # In order, equal labels of a draw are neighbors.
        labels = np.sort(draws.store.rows(group), axis=0)
        holds &= (labels[1:] != labels[:-1]).all(axis=0)
    return holds


def _groups(items: Any, argument: str, draws: Draws) -> list[IntArray]:
    """One or several groups of items, as numbers."""
    if items is None:
        return []
    if isinstance(items, str | int | np.integer):
        raise TypeError(
            f"'{argument}' must be a list of items, or of such lists; got {shown(items)}."
        )
    given = list(items)
    nested = [not isinstance(one, str) and np.ndim(one) > 0 for one in given]
    if any(nested) and not all(nested):
        raise TypeError(f"'{argument}' must be a list of items, or of such lists, not of both.")
    groups = [list(one) for one in given] if any(nested) else [given]
    return [_group(group, argument, draws) for group in groups]


def _group(items: list[Any], argument: str, draws: Draws) -> IntArray:
    """The numbers of the items of one group, of which there must be two or more."""
    numbers = [_number(item, argument, draws) for item in items]
    if len(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise ValueError(f"'{argument}' must name two or more different items; got {shown(items)}.")
    return np.array(numbers, dtype=np.int64)


def _number(item: Any, argument: str, draws: Draws) -> int:
    """The number of an item, given by number or by name."""
    if isinstance(item, str):
        if draws.items is None:
            raise ValueError(f"'{argument}' has {item!r}, but the draws have no names of items.")
        if item not in draws.items:
            raise ValueError(f"'{argument}' must name items of the draws; there is no {item!r}.")
        return draws.items.index(item)
    if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
        raise TypeError(f"'{argument}' must hold numbers or names of items; got {shown(item)}.")
    if not 0 <= item < draws.n_items:
        raise ValueError(
            f"'{argument}' must hold numbers from 0 to {draws.n_items - 1}; got {item}."
        )
    return int(item)


def _name(group: IntArray, draws: Draws) -> str:
    """The items of a group in words; many are only counted."""
    if len(group) > _NAMED:
        return count(len(group), "item")
    names = sentence_list([draws.item_names[i] for i in group])
    return names if draws.items is not None else f"items {names}"
