"""The expected loss from a similarity matrix, without draws.

    binder   E[ (c Qz + (2 - c) Qa) / 2 - Qj ]: the sums over draws are sums of similarities, and exact
    vi_lb    (c Z + (2 - c) A - 2 J) / N with Z = sum_i log2 sum_j p_ij, A = sum_i log2 n_i and
             J = sum_i log2 s_i: the lower bound of Wade & Ghahramani

where n_i is the size of the cluster of item i and s_i the sum of p_ij over its items. In both cases the loss
is f0 of three sums, as it is for draws.

Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible balls. Bayesian
Analysis 13, 559-626. doi:10.1214/17-BA1073
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.looks import no_looks
from epluribus._kernels.matrix import Neighbors, sums_inside
from epluribus._typing import FloatArray, IntArray
from epluribus.engine.engine import Engine
from epluribus.engine.execution import Roomy
from epluribus.engine.prices import make_price
from epluribus.losses.base import Loss

_ROUNDING = 2.0**-53
"""Largest relative error of one operation in double precision."""


class MatrixEngine(Engine):
    """Expected loss from the similarities of items, for the same loops as with draws.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array of shape (n_items, n_items)
        Similarities above zero, symmetric, without the diagonal.
    loss : Loss
        `losses.binder` or `losses.vi_lb`, with any cost.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from epluribus import losses
    >>> from epluribus.engine.matrix import MatrixEngine
    >>> matrix = csr_array(np.array([[0, 0.75, 0], [0.75, 0, 0.25], [0, 0.25, 0]]))
    >>> engine = MatrixEngine(matrix, losses.binder())
    >>> engine.value_of(np.array([0, 0, 1]))  # 1 - 0.75 for the pair together, 0.25 for one apart
    0.5
    """

    def __init__(self, matrix: Any, loss: Loss) -> None:
        self.loss, self.n_items, self.n_free = loss, matrix.shape[0], matrix.shape[0]
        # No draws: what asks for them finds none.
        self.table, self.n_draws = np.empty((self.n_items, 0), dtype=np.uint8), 0
        self.weights, self.total_weight = np.ones(1), 1.0
        self._f2, self._row = loss.tables(self.n_items)[1], None
        self.execution: MatrixExecution = MatrixExecution(matrix, loss)
        self.tolerance = self.execution.tolerance
        self._group = float(self.execution.terms(self.execution.sums_of_rows()).sum())

    def value_of(self, labels: IntArray) -> float:
        """Expected loss of labels 0..K-1."""
        joint = float(self.execution.terms(self.execution.sums_inside(labels)).sum())
        size = float(self._f2[np.bincount(labels)].sum())
        return float(self.loss.f0(joint, size, self._group, self.n_items))

    def value(self, state: Any) -> float:
        """Expected loss of the state, from its labels."""
        return self.value_of(state.labels)

    def trivial_values(self) -> tuple[float, float]:
        """Expected loss of one cluster of all items, and of all items apart."""
        apart = np.arange(self.n_items)
        return self.value_of(np.zeros_like(apart)), self.value_of(apart)

    def random_group(self, rng: np.random.Generator) -> tuple[int, NDArray[np.bool_]]:
        """A random item, and the items most similar to it."""
        i = int(rng.integers(self.n_items))
        return i, similar_items(self.execution.row(i), rng)


def similar_items(row: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The items of the largest entries of a row: about as many as a draw has together, or above a level."""
    if rng.random() < 0.5:
        return row > rng.random()
    # As many as come up if each item does with its probability; all that are as similar as the last one.
    n = max(1, int((rng.random(len(row)) < row).sum()))
    return row >= np.partition(row, len(row) - n)[len(row) - n]


class MatrixExecution(Roomy):
    """Makes the states of `_kernels/matrix.py`; all of them share the neighbors."""

    skips, grows_with_draws = False, False

    def __init__(self, matrix: Any, loss: Loss) -> None:
        n = matrix.shape[0]
        price = make_price(loss, n, np.ones(1), np.zeros(1))
        self._scale, self._logs = loss.linear_form(n).joint, loss.family == "vi_lb"
        # A cost is a sum over up to n items, with terms of the size of the scale.
        self.tolerance = 8 * n * _ROUNDING * (abs(self._scale) + float(np.abs(price.size).max()))
        super().__init__(
            np.empty((n, 0), dtype=np.uint8), price._replace(margin=0.0, tolerance=self.tolerance)
        )
        self._first = matrix.indptr.astype(np.int64)
        self._near, self._share = matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
        # A division for each neighbor takes about as long as four steps of a sweep over draws.
        self.steps = 4.0 * len(self._near)

    def terms(self, sums: FloatArray) -> FloatArray:
        """The function g of the sums."""
        return np.log2(sums) if self._logs else sums

    def sums_of_rows(self) -> FloatArray:
        """(n_items,) sum of the similarities of each item with all, itself included."""
        return self.sums_inside(np.zeros(self._n_items, dtype=np.int64))

    def sums_inside(self, labels: IntArray) -> FloatArray:
        """(n_items,) sum of the similarities of each item with its cluster, itself included."""
        out = np.empty(self._n_items)
        sums_inside(self._first, self._near, self._share, labels, out)
        return out

    def row(self, i: int) -> FloatArray:
        """(n_items,) similarities with item i."""
        out, own = np.zeros(self._n_items), slice(self._first[i], self._first[i + 1])
        out[self._near[own]] = self._share[own]
        out[i] = 1.0
        return out

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> Neighbors:  # noqa: ARG002
        """The state at `labels`."""
        n, k = self._n_items, int(labels.max()) + 1
        return Neighbors(
            price=self._price,
            first=self._first,
            near=self._near,
            share=self._share,
            scale=self._scale,
            logs=self._logs,
            labels=labels.astype(np.int64),
            sizes=np.bincount(labels[labels >= 0], minlength=n + 1).astype(np.int64),
            n_clusters=np.array([k], dtype=np.int64),
            inside=self.sums_inside(labels),
            cost=np.zeros(n + 1),
            reach=np.zeros(n + 1),
            product=np.ones(n + 1),
            link=np.zeros(n),
            looks=no_looks(0),
        )
