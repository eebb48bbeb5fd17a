"""Does a block model predict links it has not seen? A tenth of them is held out and predicted.

Each link of a network is held out with probability f, independently. What is left of a network of the model is one
too, with all probabilities multiplied by 1 - f. A pair without a link in what is left had one that was held out with
probability

    f t / (1 - (1 - f) t)    if t is the probability of a link in the whole network,

estimated by t' / (1 - f) from the probability t' in the rest; for counts the numbers held out are Poisson
with f / (1 - f) times the rates of the rest. All pairs with a held-out link are compared with a random sample
of the others, which stand for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epluribus._typing import FloatArray, IntArray, RngLike
from epluribus._validate import check_fraction, make_rng
from epluribus.models.networks import NetworkModel
from epluribus.sampling import Trace, sample
from epluribus.uncertainty._checks import Calibration, Check, calibration_of_classes


@dataclass(frozen=True, repr=False, eq=False)
class LinkCheck(Check):
    """How well held-out links were predicted. Arrays are in the order of the pairs."""

    pairs: IntArray
    """(n_pairs, 2) the pairs of nodes that were looked at."""
    linked: IntArray
    """(n_pairs,) 1 if a link was held out, else 0."""
    predicted: FloatArray
    """(n_pairs,) predicted probability of that."""
    weight: float
    """How many pairs without a held-out link each of those looked at stands for."""
    share: float
    """Share of the links that was held out."""
    trace: Trace
    """The run without the links."""

    _noun = "link"
    _advice = "If nodes differ much in degree, try PoissonBlockModel(..., degree_corrected=True)."

    def _calibration(self) -> Calibration:
        n = int(self.linked.sum())
        return calibration_of_classes(n, self.predicted, self.linked, self.weight, self.share)

    @property
    def auc(self) -> float:
        """Probability that a held-out link was thought likelier than a pair without one."""
        from scipy.stats import rankdata  # takes a second to load

        ranks, n = rankdata(self.predicted), int(self.linked.sum())
        pairs = n * (self.linked.size - n)
        above = ranks[self.linked == 1].sum() - n * (n + 1) / 2
        return float(above / pairs) if pairs else np.nan

    def __repr__(self) -> str:
        return f"LinkCheck(n_links={self.linked.sum()}, calibrated={self.calibrated})"

    def __str__(self) -> str:
        return self._lines(
            f"A held-out link is thought likelier than a pair without one with probability {self.auc:.2f}."
        )


def link_check(
    model: NetworkModel,
    *,
    share: float = 0.1,
    n_draws: int = 500,
    n_chains: int = 2,
    rng: RngLike = None,
    n_jobs: int | None = None,
) -> LinkCheck:
    """Hold out a tenth of the links, sample without them, and see how well they are predicted.

    Parameters
    ----------
    model : NetworkModel
        A block model of a network, such as `StochasticBlockModel`. Its prior is kept as it is.
    share, n_draws, n_chains, rng, n_jobs
        As in `predictive_check`.

    Returns
    -------
    LinkCheck

    Examples
    --------
    >>> import networkx
    >>> import epluribus as epl
    >>> graph = networkx.planted_partition_graph(2, 30, 0.5, 0.05, seed=1)
    >>> model = epl.models.StochasticBlockModel(graph)
    >>> check = epl.uncertainty.link_check(model, n_draws=200, rng=1)
    >>> check.calibrated, bool(check.auc > 0.7)
    (True, True)
    """
    if not isinstance(model, NetworkModel):
        raise TypeError(
            "'model' must be a block model of a network, such as StochasticBlockModel; got a "
            f"{type(model).__name__}."
        )
    part, generator = check_fraction(share, "share", one=False), make_rng(rng)
    fewer, held_out = model._thin(part, generator)
    trace = sample(fewer, n_draws=n_draws, n_chains=n_chains, n_jobs=n_jobs, rng=generator)
    others, weight = _other_pairs(fewer, held_out, generator)
    pairs = np.concatenate([held_out, others])
    linked = np.repeat([1, 0], [len(held_out), len(others)])
    predicted = fewer._predict(pairs, np.asarray(trace.draws), part)
    return LinkCheck(pairs, linked, predicted, weight, part, trace)


def _other_pairs(
    fewer: NetworkModel, held_out: IntArray, generator: np.random.Generator
) -> tuple[IntArray, float]:
    """Random pairs that had no link held out, and, for zeros and ones, have none in the rest either."""
    N, directed = fewer.n_items, fewer.directed
    n = 20_000  # pairs that are looked at, of twice as many: those that are no pairs are left out
    pairs = generator.integers(0, N, (2 * n, 2))
    own = pairs[:, 0] == pairs[:, 1]
    loops = fewer.loops or fewer.with_degrees
    if not directed:
        pairs.sort(axis=1)
    if not loops:
        pairs = pairs[~own]
    elif not directed:  # a loop of an undirected network is drawn half as often as a pair
        pairs = np.concatenate([pairs, pairs[own]])
    pairs = pairs[:n]
    code, taken = (x[:, 0] * N + x[:, 1] for x in (pairs, held_out))
    free = ~np.isin(code, taken) & fewer._open(pairs)
    # How many there are in all: the share of the random pairs that qualify, times all pairs.
    total = (N * N if directed else N * (N + 1) / 2) - (0 if loops else N)
    return pairs[free], float(free.mean() * total / max(int(free.sum()), 1))
