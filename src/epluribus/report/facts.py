"""Everything the page states, computed once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from epluribus import losses, uncertainty
from epluribus._progress import make_progress
from epluribus.losses.expected import expected_loss, loss
from epluribus.search.minimize import minimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._progress import ProgressLike
    from epluribus._typing import RngLike
    from epluribus.draws import Draws
    from epluribus.estimate import Estimate

__all__ = ["ALL_LOSSES", "Comparison", "Facts", "gather"]

ALL_LOSSES = 200
"""Up to so many items the estimates of all losses are compared; above, of those that are quick."""
_QUICK = ("binder", "vi")
_HEAVY = 2 * 10**8
"""Above so many labels (items times distinct draws) what takes further searches is left out."""
_STEPS = 2e9
"""Above so many steps modes are left out: tables of 200 draws against each other, clusters squared."""
_LEFT_OUT = (
    "Estimates for other losses are left out",
    "Modes are left out (the command `epluribus modes` finds them)",
    "Lower bounds are left out (`epl.certificate(best, draws)` computes one)",
)
_SECONDS = 10.0
"""Limit on the search for each other loss, and on the lower bound."""


@dataclass(frozen=True)
class Comparison:
    """Estimates of several losses side by side, the one reported first."""

    estimates: tuple[Estimate, ...]
    expected_losses: NDArray[np.float64]
    """Of each estimate (row) under each loss (column)."""
    distances: NDArray[np.float64]
    """Variation of information from the one reported."""


@dataclass(frozen=True)
class Facts:
    """The estimate, the draws, and what is known about both."""

    best: Estimate
    draws: Draws
    items: uncertainty.ItemTable
    clusters: uncertainty.ClusterTable
    n_clusters: uncertainty.NClusters
    ball: uncertainty.CredibleBall
    error: uncertainty.MonteCarloError
    comparison: Comparison | None
    modes: uncertainty.Modes | None
    certificate: uncertainty.Certificate | None
    skipped: tuple[str, ...] = field(default=())
    """What was left out because the draws are many, in sentences."""
    bound: str = ""
    """The bound on the number of clusters of the search, in words; empty if there was none."""


def gather(
    best: Estimate,
    draws: Draws,
    *,
    bound: str = "",
    level: float = 0.95,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
) -> Facts:
    """Compute what the page states; what would take minutes is left out, and said to be."""
    bar = make_progress(progress, 8, "report")
    heavy = draws.n_items * draws.n_distinct > _HEAVY
    tables = min(draws.n_distinct, 200) ** 2 * (draws.n_items + int(draws.n_clusters.max()) ** 2)
    skipped: list[str] = []
    try:
        items = uncertainty.items(best, draws, n_jobs=n_jobs)
        bar.show(1, {})
        clusters = uncertainty.clusters(best, draws, n_jobs=n_jobs)
        bar.show(2, {})
        n_clusters = uncertainty.n_clusters_posterior(draws, best, level=level)
        ball = uncertainty.credible_ball(best, draws, level)
        bar.show(3, {})
        error = uncertainty.error(best, draws, n_jobs=n_jobs)
        bar.show(4, {})
        comparison = modes = certificate = None
        if heavy:
            skipped += [_too_many(what, draws) for what in _LEFT_OUT]
        else:
            comparison = _compare(best, draws, rng, n_jobs)
            bar.show(5, {})
            if tables > _STEPS:
                skipped.append(_too_many(_LEFT_OUT[1], draws))
            else:
                modes = uncertainty.modes(draws, best.loss, rng=rng, n_jobs=n_jobs)
            bar.show(6, {})
            certificate = uncertainty.certificate(best, draws, time_limit=_SECONDS, n_jobs=n_jobs)
        bar.show(7, {})
    finally:
        bar.close()
    return Facts(
        best,
        draws,
        items,
        clusters,
        n_clusters,
        ball,
        error,
        comparison,
        modes,
        certificate,
        tuple(skipped),
        bound,
    )


def _too_many(what: str, draws: Draws) -> str:
    return (
        f"{what} because they would take long: {draws.n_distinct:,} distinct draws of "
        f"{draws.n_items:,} items with up to {int(draws.n_clusters.max()):,} clusters."
    )


def _compare(best: Estimate, draws: Draws, rng: RngLike, n_jobs: int | None) -> Comparison:
    names = losses.available() if draws.n_items <= ALL_LOSSES else _QUICK
    others = [
        minimize(draws, name, rng=rng, n_jobs=n_jobs, time_limit=_SECONDS)
        for name in names
        if name != best.loss.name
    ]
    estimates = (best, *others)
    return Comparison(
        estimates,
        np.array([[expected_loss(a.labels, draws, b.loss) for b in estimates] for a in estimates]),
        np.array([loss(best.labels, other.labels, "vi") for other in estimates]),
    )
