"""What the paper states about its three applications (section 6), as data, and tables compared with it.

The numbers and sentences are in facts.toml. Tables have a row for each party and a column for each cluster, in
the order in which they are printed. Times are those of the authors' machine and program, kept as text. Clusters
have no names, so two tables a and b are compared after the one-to-one matching m of their columns that leaves
the fewest items in different cells:

    distance(a, b) = sum a - max over m of sum over parties r and columns g of min(a[r, g], b[r, m(g)])

References
----------
Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from epluribus._typing import IntArray, LabelsLike
from epluribus.partition import as_labels


@dataclass(frozen=True, eq=False)
class Facts:
    """What the paper states about one application."""

    name: str
    """Name of the study, as the command line takes it."""
    title: str
    """Title of the page."""
    section: str
    """Section of the paper."""
    items: str
    """What the items are called, in the plural."""
    n_items: int
    """Number of items that are clustered."""
    k_max: int
    """Largest number of clusters of the greedy algorithm, K_up in the paper."""
    k_mode: int
    """Where the posterior of the number of clusters peaks."""
    k_optimal: int
    """Clusters of the VI-optimal partition."""
    sample_time: str
    """Time of the sampler, as printed."""
    greedy_time: str
    """Average of one run of the greedy algorithm, as printed."""
    table: IntArray
    """Parties and the VI-optimal clusters; empty for the galaxies."""
    model: str
    """Data and model, in a sentence or two."""
    choices: str
    """What we chose because the paper does not state it, or because its numbers come out with it."""
    notes: Sequence[str]
    """What differs from the paper, and the evidence."""
    parties: Sequence[str] = ()
    """The rows of the table, in the paper's order; none for the galaxies."""

    def count(self, party: ArrayLike, labels: LabelsLike) -> IntArray:
        """Number of items of each party (rows) in each cluster (columns, by label)."""
        counts = pd.crosstab(np.asarray(party), np.asarray(labels))
        return counts.reindex(self.parties, fill_value=0).to_numpy()

    def distance(self, party: ArrayLike, labels: LabelsLike) -> int:
        """Number of items in another cell than in the paper's table, after the best matching of columns."""
        return self.n_items - match_columns(self.count(party, labels), self.table)[1]

    def number(self, labels: LabelsLike, party: ArrayLike) -> IntArray:
        """Clusters numbered 1, 2, ... in the order of the columns of the paper's table that they match."""
        own = as_labels(labels)
        mine = self.count(party, own)
        # Clusters that match no column come last.
        rank = np.full(mine.shape[1], self.table.shape[1])
        for cluster, column in match_columns(mine, self.table)[0]:
            rank[cluster] = column
        return number_clusters(own, rank[own])


def read_facts(name: str) -> Facts:
    """What the paper states about an application, from facts.toml.

    >>> read_facts("galaxies").k_mode
    4
    """
    text = resources.files("epluribus.studies").joinpath("facts.toml").read_text("utf-8")
    found = tomllib.loads(text)[name]
    return Facts(name, **{**found, "table": np.array(found.get("table", []), dtype=np.int64)})


def match_columns(a: IntArray, b: IntArray) -> tuple[list[tuple[int, int]], int]:
    """The matching of columns of `a` and `b` that shares most items, and how many items it shares.

    >>> match_columns(np.array([[3, 0], [1, 4]]), np.array([[0, 2], [4, 2]]))
    ([(0, 1), (1, 0)], 7)
    """
    # In each row two columns share the smaller of their counts.
    shared = np.minimum(a[:, :, None], b[:, None, :]).sum(axis=0)
    first, second = linear_sum_assignment(shared, maximize=True)
    return list(zip(first.tolist(), second.tolist(), strict=True)), int(shared[first, second].sum())


def number_clusters(labels: LabelsLike, rank: ArrayLike) -> IntArray:
    """Clusters numbered 1, 2, ... by the median of `rank` over their items, larger ones first in ties.

    >>> number_clusters([0, 0, 1, 2], rank=[5.0, 7.0, 9.0, 1.0]).tolist()
    [2, 2, 3, 1]
    """
    own = as_labels(labels)
    medians = pd.Series(np.asarray(rank)).groupby(own).median()
    # By the last key first. The inverse of the order, argsort of argsort, is the rank of each cluster.
    order = np.lexsort((-np.bincount(own), medians))
    return np.argsort(order)[own] + 1
