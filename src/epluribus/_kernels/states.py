"""What a chain knows of one side: the data, the statistics of the clusters, the partition, work space.

All models keep theirs in the same few arrays, and a built-in model is a number: every move is compiled once, for
all of them. Which row or column of an array means what is said by the constants below, and for `hyper`, `x`,
`table` and `stat` by the file of the model: `mixtures` or `networks`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref
from numba.extending import overload
from numpy.typing import NDArray

from epluribus._kernels.jit import OPTIONS
from epluribus._typing import FloatArray, IntArray

GAUSSIAN, COUNTS, CATEGORIES, FULL, BINARY, POISSON, LATENT = range(7)
"""The built-in models: three of independent columns, full covariance, networks of ones or of counts, and rows and
columns."""
REMOVE, ADD, PREDICT, WEIGH = range(4)
"""What a move asks of a model; see `likelihood`."""

LABEL, SIZE, ORDER, PLACE, COUNT, LINKS, LINKS_IN, MEMBER, TARGET, LINKED = range(10)
"""Rows of `own`: the cluster of each item, -1 while it is out; the number of items of each cluster; the numbers of
the clusters, those in use first; the place of each in that row; at 0 the number K of clusters in use, at 1 the largest
possible one. And work space: the edges between a prepared item and each cluster, outgoing or all, and incoming; the
items that a move handles; the cluster to which each item is to return."""
LOG_WEIGHT, LOG_SIZE, LOG_FACTORIAL, WEIGHT, SUM = range(5)
"""Rows of `logs`: the prior's table for K, minus infinity where that is impossible, and for the size of a cluster; log
n!. And work space: log weights of the choices of one item, and their running sum."""

KINDS = ("gibbs", "split", "merge", "transfer", "absorption", "ejection")
"""Kinds of proposals, one for each row of `Record.tally`. Checkpoints contain the rows: new ones must be
added at the end."""
UPDATE, SPLIT, MERGE, TRANSFER, ABSORPTION, EJECTION = range(len(KINDS))
"""Their numbers, in this order."""


class State(NamedTuple):
    """The arrays of one side of a model.

    Clusters have fixed numbers 0..slots-1, of which K are not empty. Opening or closing one takes at most one
    swap in the row `ORDER` of `own`; the next new cluster is always ``own[ORDER, K]``. With four slots, clusters 2
    and 0 in use and K = 2:

        order 2 0 1 3    place 1 2 0 3    the next new cluster is 1

    The prior is log p(partition) = logs[LOG_WEIGHT, K] + sum over clusters of logs[LOG_SIZE, n_g].
    """

    model: Any
    """The number of a built-in model, or a function (see `likelihood`)."""
    hyper: FloatArray
    """Hyperparameters, and how to read the other arrays."""
    x: FloatArray
    """(n_items, n_columns) data, perhaps without columns."""
    start: IntArray
    """(n_rows + 1,) where the links of each item begin in `near`; of a directed network the links to item i are in
    row n_items + i."""
    near: IntArray
    """(n_links, 2) the item at the other end of each link, and how often the link counts."""
    table: FloatArray
    """Tables of what depends on counts alone."""
    stat: FloatArray
    """The statistics of all clusters, which the model changes; all 0 before any item is in."""
    own: IntArray
    """(10, n_items + 1) the partition."""
    other: IntArray
    """The same of the items at the other ends of links: those of the other side, or this array."""
    logs: FloatArray
    """(5, n_items + 2) the prior, and weights of choices."""


class Record(NamedTuple):
    """What a chain keeps of one of its partitions."""

    labels: NDArray[np.int32]
    """(capacity, n_items) OUT: the draws kept since the record was last emptied."""
    n_clusters: IntArray
    """(capacity,) OUT: K of each draw."""
    best: IntArray
    """(n_items,) OUT: the labels with the highest posterior density so far."""
    tally: IntArray
    """(kinds, 2) OUT: proposals and acceptances, by kind of move."""


# In compiled code a tuple is passed as the descriptions of all its arrays, some eighty words, and every function
# counts a reference to each array: that takes longer than to take out an item. A mutable structure is one address.


@structref.register
class _StructType(types.StructRef):
    """Numba's type of a state that is passed by its address."""

    def preprocess_fields(self, fields):
        """The types of the fields, without values of constants."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class _Struct(structref.StructRefProxy):
    """A state that is passed by its address; it exists in compiled code only."""


structref.define_proxy(_Struct, _StructType, list(State._fields))


def by_address(state):
    """The state, in compiled code as a structure that is passed by its address."""
    return state


@overload(by_address, jit_options=OPTIONS)  # type: ignore[arg-type]
def _by_address(state):
    """The same in compiled code."""
    return lambda state: _Struct(*state)
