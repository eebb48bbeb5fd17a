"""Posterior draws of cluster labels: checked, canonical, collapsed to distinct partitions with weights.

Each draw is relabeled in order of first appearance (Strehl & Ghosh 2003, doi:10.1162/153244303321897735):
two draws are the same partition exactly when their labels are equal. Equal draws are stored once, with the
sum of their weights (section 5 of Rastelli & Friel 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._cards import Card, Facts, Shown
from epluribus._files import as_path, check_target, write_arrays
from epluribus._text import count, percent, span
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray
from epluribus._validate import check_choice, quoted, shown
from epluribus.draws.rows import (
    check_items,
    check_weights,
    collapse,
    count_seen,
    kept_rows,
    one_per_draw,
    safe_weights,
)
from epluribus.draws.store import Store, collapse_on
from epluribus.partition import ORDER, is_estimate
from epluribus.readers import is_ensemble, number_chains, to_table, unchanged
from epluribus.readers.columns import Source

NEEDS_DRAWS = (
    "a similarity matrix says how often two items are together, not in which draws: only minimize(psm=...), "
    "expected_loss(labels, psm=...) and plots.similarity(psm=...) can do without the draws themselves."
)
"""The reason why a function refuses a matrix."""


class Contents(NamedTuple):
    """What a `Draws` is made of, also where it is cut out of another one; see the attributes there."""

    store: Store
    places: IntArray
    n_clusters: IntArray
    has_missing: bool
    n_seen: IntArray
    about: Source
    """What came with the labels: chains and weights are those of the draws that were kept."""


class Draws(Shown):
    """Posterior draws of a partition of `n_items` items.

    Parameters
    ----------
    z : array_like of shape (n_draws, n_items) or (n_chains, n_draws, n_items), or other
        Cluster labels, one draw per row. Labels are only names: integers, integers stored as floats, and
        strings are all fine, and the same label may mean different clusters in different draws. Also accepted:
        lists, a pandas DataFrame (columns are items), an xarray DataArray or Dataset, an ArviZ object, a mapping
        of arrays (such as NumPyro's `get_samples` returns), a list of fitted scikit-learn clusterers, a list of
        partitions, each a list of sets of items or a mapping from items to labels (as in networkx; items are
        sorted), a list of tuples ``(items, labels)`` for clusterings of different parts of the items, the path
        of a file (see `read_draws`) or a list of paths, one per chain, or another `Draws`. Labels may be
        missing: NaN, None, NA, masked, or the value `missing`. See Notes.
    weights : array_like of shape (n_draws,), optional
        Weight of each draw, for importance samples or ensembles. All 1 by default. Only their ratios
        matter: if the largest is above 1e15 or below 1e-15, all of them are divided by it.
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
        default, with a warning except for scikit-learn's own), one cluster like any other, or a missing label.
    client : distributed.Client, optional
        A Dask cluster, perhaps on this machine alone, whose workers read and hold draws too large for memory.

    Attributes
    ----------
    n_draws, n_items, n_distinct, n_chains : int
        Number of draws, of items, of distinct partitions among the draws, and of chains.
    weights : ndarray of shape (n_distinct,)
        Weight of each distinct partition: the sum over the draws that equal it.
    index : ndarray of shape (n_draws,)
        Row of `distinct` that each draw equals.
    chains : ndarray of shape (n_draws,)
        Chain of each draw, numbered from 0.
    chain_names : tuple of str
        Names of the chains: those of their files or of a column, else their numbers.
    distinct_n_clusters, distinct_n_seen : ndarray of shape (n_distinct,)
        Number of clusters of each distinct partition, and of items that it has labels for.
    store : Store
        Where the labels are: one table in memory, or slices on the workers of a cluster.
    has_missing : bool
        Whether labels are missing.
    items : tuple of str or None
        Names of the items.
    kind : str
        "posterior" or "ensemble".
    variable, dimension : str or None
        What the labels, and the dimension of the items, are called where they come from.
    origin : str
        A sentence for methods texts on how the draws were made; empty if that is not known.

    Notes
    -----
    Where labels are missing, a draw is a partition of the items it has seen, and its loss is computed on
    those alone: a missing label is neither a cluster of its own nor one of a class of missing ones. Every
    draw must have seen some item, and every item must have been seen by some draw. Each draw counts with its
    weight, however many items it has seen; ``weights=draws.n_seen`` lets it count in proportion to them. (Binder's
    loss counts pairs of items: there a draw that has seen more counts more in any case.)

    Time O(n_draws n_items). Labels are stored in the smallest unsigned type that holds them; reading takes
    twice that memory, and that of the input, which is read whole unless it is an npy file.

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
        z: DrawsLike | Contents,
        *,
        weights: Sequence[float] | AnyArray | None = None,
        burn: int = 0,
        thin: int = 1,
        items: Sequence[str] | None = None,
        chains: Sequence[int] | AnyArray | None = None,
        kind: str | None = None,
        var: str | None = None,
        missing: Any = None,
        noise: str | None = None,
        client: Any = None,
    ) -> None:
        if not isinstance(z, Contents):
            if isinstance(z, list | tuple) and is_ensemble(z):
                kind, noise = kind or "ensemble", noise or "alone"
            if kind is not None:
                check_choice(kind, ("posterior", "ensemble"), "kind")
            # Other draws may be given to take a part of them, or to give them other names or weights.
            if isinstance(z, Draws):
                source = z._source()
            else:
                source = to_table(z, var=var, missing=missing, noise=noise, lazy=client is not None)
            n_rows, n_items = source.labels.shape
            if chains is not None:
                numbers, names = number_chains(one_per_draw(np.asarray(chains), n_rows, "chains"))
                source = source._replace(chains=numbers, chain_names=names)
            weights = source.weights if weights is None else weights
            # Burn-in and thinning come first, so that only the draws that are kept are read.
            keep = kept_rows(source.chains, burn, thin)
            where = str(z) if isinstance(z, str | Path) else "z"
            about = source._replace(
                labels=None, check=None,
                items=check_items(items, source.items, n_items, where),
                weights=None if weights is None else check_weights(weights, n_rows, keep),
                chains=source.chains[keep], kind=kind or source.kind,
            )  # fmt: skip
            found = collapse_on(client, source, keep) if client else collapse(source, keep)
            store, places, k, has_missing, _ = found
            n_seen = (
                count_seen(found, about.items, where) if has_missing else np.full(k.shape, n_items)
            )
            if not client:
                store = Store(store, int(k.max()) + has_missing)
            z = Contents(store, places, k, has_missing, n_seen, about)
        self._contents: Contents = z
        self.store, self.index, self.distinct_n_clusters, self.has_missing, *_ = z
        self.distinct_n_seen, about = z.n_seen, z.about
        self.chains: IntArray = about.chains
        self.items: tuple[str, ...] | None = about.items
        self.kind: str = about.kind or "posterior"
        self.chain_names = about.chain_names or tuple(map(str, range(int(self.chains.max()) + 1)))
        self.variable, self.dimension, self.origin = about.variable, about.dimension, about.origin
        self.n_draws, self.n_chains = len(self.index), int(self.chains.max()) + 1
        self.n_items, self.n_distinct = self.store.n_items, self.store.n_distinct
        # Scaled for each part of a sample by itself: its weights may be tiny beside those of other draws.
        self.draw_weights = (
            np.ones(self.n_draws) if about.weights is None else safe_weights(about.weights)
        )
        # The weight of distinct partition d is the sum of w_t over the draws t with index[t] = d.
        weight = np.bincount(self.index, weights=self.draw_weights, minlength=self.n_distinct)
        self.weights: FloatArray = weight.astype(np.float64)

    @property
    def n_seen(self) -> IntArray:
        """Number of items that each draw has labels for."""
        return self.distinct_n_seen[self.index]

    @property
    def distinct(self) -> NDArray[np.unsignedinteger[Any]]:
        """The distinct partitions, one per row (a read-only view); -1 where a label is missing."""
        return self._signed(self.item_major.T)

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
            raise ValueError(
                f"{what} needs draws without missing labels; {self._missing_share()} of these are missing. `minimize`, "
                "`expected_loss`, `psm`, `items`, `clusters`, `credible_ball`, `modes` and `error` do not."
            )

    def mean(self, values: AnyArray) -> float:
        """Mean over the draws, sum_d w_d values_d / sum_d w_d, of `values` of shape (n_distinct,)."""
        return float(values @ self.weights / self.total_weight)

    def __len__(self) -> int:
        return self.n_draws

    def __getitem__(self, key: Any) -> Any:
        """Labels of one draw for an integer; a `Draws` of some of the draws for a slice or an index array."""
        if isinstance(key, int | np.integer):
            return self._signed(self.store.columns(self.index[[int(key)]])[:, 0]).astype(np.int64)
        return self._select(np.arange(self.n_draws)[key])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError("Equal draws are stored once: an array of all draws is a copy.")
        # All draws in their order: column index[t] of the labels is draw t.
        table = self._signed(self.store.columns(self.index).T)
        return table if dtype is None else table.astype(dtype)

    def _signed(self, table: AnyArray) -> AnyArray:
        """Stored labels with -1 in place of missing ones."""
        return np.subtract(table, 1, dtype=np.int64) if self.has_missing else table

    def to_local(self) -> Draws:
        """The same draws with all labels in the memory of this process."""
        table = self.store.rows(np.arange(self.n_items))
        return Draws(self._contents._replace(store=Store(table, self.store.groups)))

    def select_items(self, items: IntArray) -> Draws:
        """Draws of some items, given by number, without draws that have seen none; all items get names.

        >>> Draws([[0, 0, 1], [0, 1, 1]]).select_items(np.array([0, 2])).items
        ('0', '2')
        """
        rows: AnyArray = np.ascontiguousarray(self.store.rows(items).T)[self.index]
        keep, names = np.arange(self.n_draws), [self.item_names[i] for i in items]
        if self.has_missing:
            keep, rows = np.flatnonzero((rows > 0).any(axis=1)), np.ma.masked_equal(rows, 0)
        part = self._contents.about._replace(
            labels=rows[keep],
            items=names,
            chains=self.chains[keep],
            weights=self.draw_weights[keep],
        )
        return Draws(part)

    def burn(self, n: int) -> Draws:
        """Leave out the first `n` draws of each chain."""
        return self._select(kept_rows(self.chains, n, 1))

    def thin(self, step: int) -> Draws:
        """Keep every `step`-th draw of each chain."""
        return self._select(kept_rows(self.chains, 0, step))

    def chain(self, number: int) -> Draws:
        """The draws of one chain, by its number from 0 on."""
        if not 0 <= number < self.n_chains:
            raise ValueError(f"'number' must be in 0..{self.n_chains - 1}; got {number}.")
        return self._select(np.flatnonzero(self.chains == number))

    def select(self, chains: Sequence[Any]) -> Draws:
        """The draws of some chains, by name; those without names are called by their numbers.

        >>> draws = Draws([[[0, 0, 1], [0, 1, 1]], [[0, 0, 0], [0, 0, 1]], [[0, 1, 2], [0, 1, 1]]])
        >>> draws.select(chains=[0, 2]).n_draws, draws.drop_chains(1).chain_names
        (4, ('0', '2'))
        """
        return self._select(np.flatnonzero(self._in_chains(chains)))

    def drop_chains(self, *chains: Any) -> Draws:
        """The draws without those of some chains, named as in `select`."""
        return self._select(np.flatnonzero(~self._in_chains(chains)))

    def _in_chains(self, chains: Any) -> NDArray[np.bool_]:
        """Which draws belong to chains that are given by name, or one by its name."""
        alone = isinstance(chains, str) or not isinstance(chains, Iterable)
        given, names = [str(one) for one in ([chains] if alone else chains)], self.chain_names
        for one in given:
            if one not in names:
                raise ValueError(f"'chains' must be among {quoted(names)}; got {shown(one)}.")
        return np.isin(np.array(names)[self.chains], given)

    def save(self, path: str | Path) -> None:
        """Write the labels of all draws, their weights and the names of chains and items to an npz file.

        `read_draws` and the command line read it.
        """
        target = as_path(path, "path")
        check_target(target, (".npz",))
        labels = self._source().labels
        if self.has_missing:  # as NaN: npz has no masks
            labels = np.ma.filled(labels.astype(np.float32), np.nan)
        names, weights = np.array(self.chain_names)[self.chains], self._contents.about.weights
        arrays = {"labels": labels, "chains": names, "weights": weights, "items": self.items}
        arrays |= {"kind": self.kind, "origin": self.origin or None}
        write_arrays(target, {k: x for k, x in arrays.items() if x is not None}, compress=True)

    def _select(self, rows: IntArray) -> Draws:
        """The given draws, without the distinct partitions that none of them equals."""
        if len(rows) == 0:
            raise ValueError(f"No draws are left: 0 of {self.n_draws} were selected.")
        used, first, inverse = np.unique(self.index[rows], return_index=True, return_inverse=True)
        # np.unique sorts: `order` and its inverse restore the order of first appearance.
        order = np.argsort(first)
        used, about = used[order], self._contents.about
        k = self.distinct_n_clusters[used]
        own, chains = np.unique(self.chains[rows], return_inverse=True)
        about = about._replace(
            chains=chains.astype(np.int64),
            chain_names=tuple(self.chain_names[number] for number in own),
            weights=None if about.weights is None else about.weights[rows],
        )
        store = self.store.select(used, k + self.has_missing)
        places, n_seen = np.argsort(order)[inverse], self.distinct_n_seen[used]
        return Draws(Contents(store, places, k, self.has_missing, n_seen, about))

    def _source(self) -> Source:
        """All draws in their order, to be read once more."""
        rows = self.store.columns(self.index).T
        labels = np.ma.masked_equal(rows, 0) if self.has_missing else rows
        return self._contents.about._replace(labels=labels, check=unchanged)

    def __repr__(self) -> str:
        names = ("n_draws", "n_items", "n_distinct", "n_chains")
        return f"Draws({', '.join(f'{name}={getattr(self, name)}' for name in names)})"

    def _card(self) -> Card:
        k, posterior = self.distinct_n_clusters, self.kind == "posterior"
        # Total weight of the partitions with each number of clusters.
        often = int(np.bincount(k, weights=self.weights).argmax())
        one, each = ("draw", "a draw") if posterior else ("clustering", "each")
        most = f", most often {often}" if k.min() < k.max() else ""
        facts = {
            "distinct partitions": f"{len(k):,}",
            f"clusters in {each}": f"{span(int(k.min()), int(k.max()))}{most}",
        }
        if posterior:
            facts["chains"] = f"{self.n_chains}"
        if self.has_missing:
            seen = span(int(self.n_seen.min()), int(self.n_seen.max()))
            facts["missing labels"] = f"{self._missing_share()}; a {one} has seen {seen} items"
        if self.variable is not None:
            facts["variable"] = self.variable
        if not np.all(self.draw_weights == 1.0):
            facts["sum of weights"] = f"{self.total_weight:.6g}"
        of = "of a partition of" if posterior else "of"
        return Card(f"{count(self.n_draws, one)} {of} {count(self.n_items, 'item')}", Facts(facts))

    def _missing_share(self) -> str:
        return percent(1.0 - float(self.n_seen.mean()) / self.n_items)


def as_draws(draws: DrawsLike, near: int = 0) -> Draws:
    """`draws` itself, or a `Draws` made from it; those on a cluster, of up to `near` items, are brought here."""
    if isinstance(draws, Draws):
        away = draws.n_items <= near and not draws.store.in_one_piece
        return draws.to_local() if away else draws
    if type(draws) is not np.ndarray or draws.dtype.kind not in "iu":
        if is_estimate(draws):
            raise TypeError(f"'draws' must be a posterior sample; got {shown(draws)}. {ORDER}")
        if isinstance(getattr(draws, "draws", None), Draws):
            what = f"a {type(draws).__name__}, whose field 'draws' it is: give trace.draws"
            raise TypeError(f"'draws' must be a posterior sample; got {what}.")
        if is_similarity(draws):
            raise TypeError(f"'draws' must be a posterior sample; {NEEDS_DRAWS}")
    return as_draws(Draws(draws), near)


def is_similarity(z: Any) -> bool:
    """Whether `z`, given as draws, can only be a similarity matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.draws.draws import is_similarity
    >>> is_similarity(np.array([[1.0, 0.5], [0.5, 1.0]])), is_similarity(np.eye(2))
    (True, False)
    """
    from scipy.sparse import issparse

    if issparse(z):  # no reader takes one
        return True
    if not (isinstance(z, np.ndarray) and z.dtype.kind == "f" and z.ndim == 2):
        return False
    # Labels stored as floats are integers; something between 0 and 1 is not a label.
    square = z.shape[0] == z.shape[1]
    return square and bool((z.diagonal() == 1.0).all() and ((z > 0) & (z < 1)).any())
