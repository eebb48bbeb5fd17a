"""Posterior draws of cluster labels: checked, canonical, collapsed to distinct partitions with weights.

Each draw is relabeled in order of first appearance (Strehl & Ghosh 2003, doi:10.1162/153244303321897735), so
that two draws are the same partition exactly when their labels are equal. Equal draws are stored once, with
the sum of their weights (section 5 of Rastelli & Friel 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from epluribus._cards import Card, Shown
from epluribus._progress import ProgressLike
from epluribus._text import count, percent, sentence_list
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray
from epluribus._validate import check_bytes, check_choice, check_count
from epluribus.draws.collapse import collapse
from epluribus.draws.dask_store import check_client, collapse_on
from epluribus.draws.rows import check_chains, check_items, check_weights, kept_rows, safe_weights
from epluribus.draws.store import LocalStore, Slice, Store, Stored
from epluribus.draws.text import describe
from epluribus.draws.ways_in import WaysIn
from epluribus.readers.blocks import Rows
from epluribus.readers.convert import to_table
from epluribus.readers.objects import is_ensemble

KINDS = ("posterior", "ensemble")
"""What draws can be."""


class Draws(WaysIn, Shown):
    """Posterior draws of a partition of `n_items` items.

    Parameters
    ----------
    z : array_like of shape (n_draws, n_items) or (n_chains, n_draws, n_items), or other
        Cluster labels, one draw per row. Labels are only names: integers with gaps, negative numbers,
        integers stored as floats, and strings are all fine, and the same label may mean different
        clusters in different draws. Also accepted: lists, a pandas DataFrame (columns are items), an
        xarray DataArray or Dataset, an ArviZ object, a mapping of arrays (such as NumPyro's `get_samples`
        returns), a list of fitted scikit-learn clusterers, a list of partitions, each a list of sets of
        items or a mapping from items to labels (as in networkx; items are sorted), a list of tuples
        ``(items, labels)`` for clusterings of different parts of the items, the path of a file (see
        `read_draws`) or a list of paths, one per chain, or another `Draws`.
        Labels may be missing: NaN, None, NA, masked, or the value `missing`. See Notes.
    weights : array_like of shape (n_draws,), or "items", optional
        Weight of each draw, for importance samples or ensembles. All 1 by default. Only their ratios
        matter: if the largest is above 1e15 or below 1e-15, all of them are divided by it. "items" gives
        each draw the share of the items that it has seen, where labels are missing.
    burn : int, default 0
        Draws left out at the beginning of each chain.
    thin : int, default 1
        Keep every `thin`-th draw of each chain, after `burn`.
    items : sequence of str, optional
        Names of the items; taken from the input if it has them.
    chains : array_like of shape (n_draws,), optional
        Which chain each draw of a two-dimensional `z` comes from.
    kind : {"posterior", "ensemble"}, optional
        What the draws are: a posterior sample, or an ensemble of clusterings without order, chains or
        probabilities. By default an ensemble for scikit-learn clusterers, a posterior for all else.
    var : str, optional
        The variable to read if the input holds several.
    missing : int, float or str, optional
        A label that stands for a missing one.
    noise : {"alone", "together", "missing"}, optional
        What a label of -1 means: an item in no cluster, which is alone (scikit-learn's meaning, and the
        default, with a warning), one cluster like any other, or a missing label.
    client : distributed.Client, optional
        A Dask cluster: its workers read the draws and hold them, one slice each at a time.
    memory_limit : int or str, optional
        Bytes of memory for the labels, as a number or as text such as "2GB". Labels that need more are kept
        in a temporary file, which is deleted when the draws are no longer used. No limit by default.
    progress : bool or callable, optional
        By default and with True a bar appears, on a terminal or in a notebook, when reading has taken two
        seconds; with False it never does. A function is called as ``(done, total, info)``.

    Attributes
    ----------
    n_draws, n_items, n_distinct, n_chains : int
        Number of draws, of items, of distinct partitions among the draws, and of chains.
    distinct : ndarray of shape (n_distinct, n_items)
        The distinct partitions in canonical form, in order of first appearance (a view).
    weights : ndarray of shape (n_distinct,)
        Weight of each distinct partition: the sum over the draws that equal it.
    index : ndarray of shape (n_draws,)
        Row of `distinct` that each draw equals.
    chains : ndarray of shape (n_draws,)
        Chain of each draw.
    n_clusters : ndarray of shape (n_draws,)
        Number of clusters of each draw; `distinct_n_clusters` has that of each distinct partition.
    store : Store
        Where the labels are: one table, or with a `memory_limit` several slices in a file.
    has_missing : bool
        Whether labels are missing.
    n_seen : ndarray of shape (n_draws,)
        Number of items that each draw has labels for; `distinct_n_seen` has that of each distinct one.
    items : tuple of str or None
        Names of the items.
    kind : str
        "posterior" or "ensemble".
    variable, dimension : str or None
        What the labels, and the dimension of the items, are called where they come from.

    Notes
    -----
    Where labels are missing, a draw is a partition of the items it has seen, and its loss is computed on
    those alone: a missing label is neither a cluster of its own nor one of a class of missing ones. Every
    draw must have seen some item, and every item must have been seen by some draw. Each draw counts with its
    weight, however many items it has seen; ``weights="items"`` lets it count in proportion to them. (Binder's
    loss counts pairs of items: there a draw that has seen more counts more in any case.)

    Time O(n_draws n_items). Labels are read in one pass and stored in the smallest unsigned type that holds
    them. While they are read, memory besides the input stays below the stored labels plus some 150 MB. Draws
    are known to be equal by a fingerprint of 128 bits.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[1, 1, 2], [5, 5, 3], [1, 2, 2]])
    >>> len(draws), draws.n_items, draws.n_distinct
    (3, 3, 2)
    >>> draws.weights
    array([2., 1.])

    Clusterings of different parts of the items:

    >>> parts = epl.Draws([([0, 1, 2], [5, 5, 7]), ([1, 2, 3], [0, 1, 1])])
    >>> parts[1], parts.n_seen
    (array([-1,  0,  1,  1]), array([3, 3]))
    """

    def __init__(
        self,
        z: DrawsLike,
        *,
        weights: Sequence[float] | AnyArray | str | None = None,
        burn: int = 0,
        thin: int = 1,
        items: Sequence[str] | None = None,
        chains: Sequence[int] | AnyArray | None = None,
        kind: str | None = None,
        var: str | None = None,
        missing: Any = None,
        noise: str | None = None,
        memory_limit: int | str | None = None,
        client: Any = None,
        progress: ProgressLike = None,
    ) -> None:
        burn = check_count(burn, "burn", low=0)
        thin = check_count(thin, "thin", low=1)
        limit = None if memory_limit is None else check_bytes(memory_limit, "memory_limit")
        if kind is None:
            kind = z.kind if isinstance(z, Draws) else KINDS[is_ensemble(z)]
        self.kind: str = check_choice(kind, KINDS, "kind")
        where = str(z) if isinstance(z, str | Path) else "z"  # for messages
        table: Rows
        self.variable: str | None
        self.dimension: str | None
        names: Sequence[Any] | None
        # Another `Draws` may be given to take a part of it, or to give it other names or weights.
        if isinstance(z, Draws):
            table = Stored(z.store, z.index, missing=z.has_missing)
            chain, names = z.chains, z.items
            self.variable, self.dimension = z.variable, z.dimension
            weights = z._given if weights is None else weights
        else:
            read = to_table(z, var=var, missing=missing, noise=noise)
            table, chain, names, self.variable, self.dimension = read
        if chains is not None:
            chain = check_chains(chains, table.shape[0])
        # Burn-in and thinning come first, so that only the draws that are kept are collapsed.
        keep = kept_rows(chain, burn, thin)
        self.n_draws: int = len(keep)
        self.n_items: int = table.shape[1]
        self.items: tuple[str, ...] | None = check_items(items, names, self.n_items, where)
        self.chains: IntArray = chain[keep]
        by_items = isinstance(weights, str) and weights == "items"
        self._given: FloatArray = check_weights(None if by_items else weights, table.shape[0], keep)
        self.store: Store
        self.index: IntArray
        self.distinct_n_clusters: IntArray
        if client is None:
            found = collapse(table, keep, limit, progress)
        else:
            if limit is not None:
                raise ValueError(
                    "'memory_limit' must be None with 'client': the labels are in the memory of the workers, "
                    "which have limits of their own (dask worker --memory-limit)."
                )
            found = collapse_on(check_client(client), table, keep)
        self.store, self.index, self.distinct_n_clusters = found[:3]
        self.has_missing: bool = found.has_missing
        self.distinct_n_seen: IntArray = np.full(self.store.n_distinct, self.n_items)
        if self.has_missing:
            self._count_seen(where)
        if by_items:
            self._given = self.n_seen / self.n_items
        self._summarize()

    def _count_seen(self, where: str) -> None:
        """Count the items that each draw has seen; refuse items that none has seen, and empty draws."""
        draws, items = zip(*self.store.map(_seen_in_slice), strict=True)
        self.distinct_n_seen = np.concatenate(draws)
        empty = np.flatnonzero(self.n_seen == 0)
        if len(empty):
            raise ValueError(
                f"'{where}' must have some label in every draw; all labels of draw {empty[0]} are missing. "
                "Leave such draws out."
            )
        never = np.flatnonzero(np.sum(items, axis=0) == 0)
        if len(never):
            names = sentence_list([f"'{self.item_names[i]}'" for i in never[:3].tolist()])
            more = f" and {count(len(never) - 3, 'other')}" if len(never) > 3 else ""
            raise ValueError(
                f"'{where}' must have some label for every item; all labels of {names}{more} are missing. "
                "Leave such items out."
            )

    @property
    def n_seen(self) -> IntArray:
        """Number of items that each draw has labels for."""
        return self.distinct_n_seen[self.index]

    def _summarize(self) -> None:
        """Fill what follows from `store`, `index` and `_given`, the weights as they were given."""
        self.n_distinct: int = self.store.n_distinct
        self.n_chains: int = int(self.chains.max()) + 1
        # Scaled anew for each part of a sample: its weights may be tiny beside those of the other draws.
        self.draw_weights: FloatArray = safe_weights(self._given)
        # The weight of distinct partition d is the sum of w_t over the draws t with index[t] = d.
        weights = np.bincount(self.index, weights=self.draw_weights, minlength=self.n_distinct)
        self.weights: FloatArray = weights.astype(np.float64)

    # --- access ---

    @property
    def distinct(self) -> NDArray[np.unsignedinteger[Any]]:
        """The distinct partitions, one per row (a read-only view); -1 where a label is missing."""
        if self.has_missing:
            return np.subtract(self.item_major.T, 1, dtype=np.int64)
        return self.item_major.T

    @property
    def item_major(self) -> NDArray[np.unsignedinteger[Any]]:
        """The labels as kernels read them: contiguous, one item per row (read-only).

        The transpose of `distinct`; if labels are missing, all are one larger, so that 0 means missing.
        """
        return self.store.whole()

    @property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each draw."""
        return self.distinct_n_clusters[self.index]

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    @property
    def shares(self) -> FloatArray:
        """Probability of each distinct partition: its share of the weights."""
        return self.weights / self.total_weight

    @property
    def item_names(self) -> tuple[str, ...]:
        """Names of the items, or their numbers as text if they have no names."""
        return self.items if self.items is not None else tuple(map(str, range(self.n_items)))

    def check_complete(self, what: str) -> None:
        """Refuse draws with missing labels for what has no meaning, or no method, for them."""
        if self.has_missing:
            share = percent(1.0 - float(self.n_seen.mean()) / self.n_items)
            raise ValueError(
                f"{what} needs draws without missing labels; {share} of these are missing. `minimize`, "
                "`expected_loss`, `psm`, `items`, `clusters`, `credible_ball`, `modes` and `error` do not."
            )

    def mean(self, values: AnyArray) -> float:
        """Mean over the draws, sum_d w_d values_d / sum_d w_d, of `values` of shape (n_distinct,)."""
        return float(values @ self.weights / self.total_weight)

    def __len__(self) -> int:
        return self.n_draws

    @overload
    def __getitem__(self, key: int) -> IntArray: ...
    @overload
    def __getitem__(self, key: slice | AnyArray | list[int]) -> Draws: ...
    def __getitem__(self, key: Any) -> Any:
        """Labels of one draw for an integer; a `Draws` of some of the draws for a slice or an index array."""
        if isinstance(key, int | np.integer):
            row = self.store.columns(np.array([self.index[key]]))[:, 0].astype(np.int64)
            return row - self.has_missing  # -1 where a label is missing
        return self._select(np.arange(self.n_draws)[key])

    def __iter__(self) -> Iterator[IntArray]:
        return (self[t] for t in range(self.n_draws))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError(
                "The draws are stored once per distinct partition: an array of them is a copy."
            )
        # All draws in their order: column index[t] of the labels is draw t.
        table = self.store.columns(self.index).T
        if self.has_missing:
            table = np.subtract(table, 1, dtype=np.int64)
        return table if dtype is None else table.astype(dtype)

    def brought_here(self) -> Draws:
        """The same draws with all labels in the memory of this process."""
        new, n = copy(self), np.arange(self.n_items)
        new.store = LocalStore([Slice(0, self.store.rows(n))], self.store.groups)
        return new

    def burn(self, n: int) -> Draws:
        """Leave out the first `n` draws of each chain."""
        return self._select(kept_rows(self.chains, check_count(n, "n", low=0), 1))

    def thin(self, step: int) -> Draws:
        """Keep every `step`-th draw of each chain."""
        return self._select(kept_rows(self.chains, 0, check_count(step, "step", low=1)))

    def chain(self, number: int) -> Draws:
        """The draws of one chain."""
        if not 0 <= number < self.n_chains:
            raise ValueError(f"'number' must be in 0..{self.n_chains - 1}; got {number}.")
        return self._select(np.flatnonzero(self.chains == number))

    def _select(self, rows: IntArray) -> Draws:
        """The given draws as a new object, without the distinct partitions that none of them equals."""
        if len(rows) == 0:
            raise ValueError(f"No draws are left: 0 of {self.n_draws} were selected.")
        # The labels are canonical already: the constructor would read and collapse them again.
        new = object.__new__(Draws)
        used, first, inverse = np.unique(self.index[rows], return_index=True, return_inverse=True)
        # np.unique sorts: `order` and its inverse `rank` restore the order of first appearance.
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        new.n_draws, new.n_items, new.items = len(rows), self.n_items, self.items
        new.variable, new.dimension, new.kind = self.variable, self.dimension, self.kind
        new.has_missing = self.has_missing
        new.distinct_n_seen = self.distinct_n_seen[used[order]]
        new.chains = np.unique(self.chains[rows], return_inverse=True)[1].astype(np.int64)
        new._given = self._given[rows]
        new.index = rank[inverse]
        new.distinct_n_clusters = self.distinct_n_clusters[used[order]]
        new.store = self.store.select(used[order], new.distinct_n_clusters + self.has_missing)
        new._summarize()
        return new

    # --- printing ---

    def __repr__(self) -> str:
        return (
            f"Draws(n_draws={self.n_draws}, n_items={self.n_items}, "
            f"n_distinct={self.n_distinct}, n_chains={self.n_chains})"
        )

    def _card(self) -> Card:
        return describe(self)


def _seen_in_slice(part: Slice) -> tuple[IntArray, IntArray]:
    """How many items each draw of a slice has seen, and how many of its draws have seen each item."""
    seen = part.table > 0
    return seen.sum(axis=0), seen.sum(axis=1)
