"""What draws consist of: read from anything, or cut out of other draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus._progress import ProgressLike
from epluribus._text import count, sentence_list
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import check_choice, check_count
from epluribus.draws.collapse import Collapsed, collapse
from epluribus.draws.dask_store import check_client, collapse_on
from epluribus.draws.rows import check_chains, check_items, check_weights, kept_rows
from epluribus.draws.store import Store
from epluribus.readers.blocks import Blocks
from epluribus.readers.convert import Table, to_table
from epluribus.readers.objects import is_ensemble

_KINDS = ("posterior", "ensemble")


class Contents(NamedTuple):
    """Draws of a partition; see the attributes of `Draws`."""

    store: Store
    places: IntArray
    """(n_draws,) what `Draws.index` has."""
    distinct_n_clusters: IntArray
    distinct_n_seen: IntArray
    has_missing: bool
    chains: IntArray
    given: FloatArray
    """(n_draws,) the weights as they were given."""
    items: tuple[str, ...] | None
    kind: str
    variable: str | None
    dimension: str | None

    def select(self, rows: IntArray) -> Contents:
        """The given draws, without the distinct partitions that none of them equals."""
        if len(rows) == 0:
            raise ValueError(f"No draws are left: 0 of {len(self.places)} were selected.")
        used, first, inverse = np.unique(self.places[rows], return_index=True, return_inverse=True)
        # np.unique sorts: `order` and its inverse restore the order of first appearance.
        order = np.argsort(first)
        used = used[order]
        n_clusters = self.distinct_n_clusters[used]
        return self._replace(
            store=self.store.select(used, n_clusters + self.has_missing),
            places=np.argsort(order)[inverse],
            distinct_n_clusters=n_clusters,
            distinct_n_seen=self.distinct_n_seen[used],
            chains=np.unique(self.chains[rows], return_inverse=True)[1].astype(np.int64),
            given=self.given[rows],
        )

    def table(self) -> Table:
        """All draws in their order, to be read once more."""
        rows = self.store.columns(self.places).T
        labels = np.ma.masked_equal(rows, 0) if self.has_missing else rows
        blocks = Blocks(labels, lambda some, _: some)
        return Table(blocks, self.chains, self.items, self.variable, self.dimension)


def read_contents(
    z: Any, weights: Any, burn: int, thin: int, items: Sequence[Any] | None, chains: Any,
    kind: str | None, var: str | None, missing: Any, noise: str | None, client: Any,
    progress: ProgressLike,
) -> Contents:  # fmt: skip
    """Read draws from anything that `Draws` accepts, with its arguments; other draws are `Contents`."""
    burn = check_count(burn, "burn", low=0)
    thin = check_count(thin, "thin", low=1)
    # Other draws may be given to take a part of them, or to give them other names or weights.
    again = isinstance(z, Contents)
    if kind is None:
        kind = z.kind if again else _KINDS[is_ensemble(z)]
    check_choice(kind, _KINDS, "kind")
    where = str(z) if isinstance(z, str | Path) else "z"  # for messages
    table = z.table() if again else to_table(z, var=var, missing=missing, noise=noise)
    weights = z.given if again and weights is None else weights
    n_rows, n_items = table.labels.shape
    chain = table.chain if chains is None else check_chains(chains, n_rows)
    # Burn-in and thinning come first, so that only the draws that are kept are collapsed.
    keep = kept_rows(chain, burn, thin)
    names = check_items(items, table.items, n_items, where)
    by_items = isinstance(weights, str) and weights == "items"
    given = check_weights(None if by_items else weights, n_rows, keep)
    if client is None:
        found = collapse(table.labels, keep, progress)
    else:
        found = collapse_on(check_client(client), table.labels, keep)
    n_seen = np.full(found.store.n_distinct, n_items)
    if found.has_missing:
        n_seen = _count_seen(found, names, where)
    given = n_seen[found.places] / n_items if by_items else given
    return Contents(
        found.store, found.places, found.n_clusters, n_seen, found.has_missing, chain[keep],
        given, names, kind, table.variable, table.dimension,
    )  # fmt: skip


def _count_seen(found: Collapsed, names: tuple[str, ...] | None, where: str) -> IntArray:
    """Items that each distinct draw has seen; items that none has seen, and empty draws, are refused."""
    seen = found.store.whole() > 0
    n_seen: IntArray = seen.sum(axis=0)
    empty = np.flatnonzero(n_seen[found.places] == 0)
    if len(empty):
        raise ValueError(
            f"'{where}' must have some label in every draw; all labels of draw {empty[0]} are missing. "
            "Leave such draws out."
        )
    never = np.flatnonzero(~seen.any(axis=1)).tolist()
    if never:
        first = sentence_list([f"'{names[i] if names else i}'" for i in never[:3]])
        more = f" and {count(len(never) - 3, 'other')}" if len(never) > 3 else ""
        raise ValueError(
            f"'{where}' must have some label for every item; all labels of {first}{more} are missing. "
            "Leave such items out."
        )
    return n_seen
