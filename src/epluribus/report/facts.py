"""Everything the page states, computed once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from epluribus import losses, uncertainty
from epluribus._parallel import Stopper
from epluribus._progress import make_progress
from epluribus._validate import make_rng
from epluribus._text import count
from epluribus.losses.values import loss
from epluribus.report.pictures import heatmap
from epluribus.search import minimize
from epluribus.engine import draw_losses
from epluribus._text import sentence_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._progress import Progress, ProgressLike
    from epluribus._typing import RngLike
    from epluribus.draws import Draws
    from epluribus.estimate import Estimate

__all__ = ["ALL_LOSSES", "Comparison", "Facts", "gather"]

T = TypeVar("T")

ALL_LOSSES = 200
"""Up to so many items the estimates of all losses are compared; above, of those that are quick."""
_QUICK = ("binder", "vi")
_HEAVY = 2 * 10**8
"""Above so many labels (items times distinct draws) what takes further searches is left out."""
_STEPS = 2e9
"""Above so many steps modes are left out: tables of 200 draws against each other, clusters squared."""
_SECONDS = 10.0
"""Limit on the search for each other loss, and on the lower bound."""
_MODES_SECONDS = 20.0
"""Above it modes are left out, so that those shown never depend on the clock."""
_MODES = "Modes are left out (the command `epluribus modes` finds them)"
_TOO_HEAVY = (
    "Estimates for other losses are left out",
    _MODES,
    "Lower bounds are left out (`epl.certificate(best, draws)` computes one)",
)


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
    """The estimate, the draws, and what is known about both; None for what was left out."""

    best: Estimate
    draws: Draws
    n_clusters: uncertainty.NClusters
    items: uncertainty.ItemTable | None
    clusters: uncertainty.ClusterTable | None
    ball: uncertainty.CredibleBall | None
    error: uncertainty.MonteCarloError | None
    heatmap: dict[str, Any] | None
    values: NDArray[np.float64] | None
    """Loss between the estimate and each draw."""
    comparison: Comparison | None
    modes: uncertainty.Modes | None
    certificate: uncertainty.Certificate | None
    skipped: tuple[str, ...] = field(default=())
    """What was left out, and why, in sentences."""
    interrupted: bool = False
    """Whether all the rest was left out after Ctrl-C."""

    @property
    def bound(self) -> str:
        """The bound on the number of clusters of the search, in words; empty if there was none."""
        return self.best.settings.bound


class _Steps:
    """One step after the other, until Ctrl-C; what comes later is left out."""

    def __init__(self, bar: Progress, interrupted: bool) -> None:
        self.bar, self.interrupted = bar, interrupted
        self.left_out: list[str] = []
        self.notes: list[str] = []
        self.n_done = 0

    def run(self, what: str, step: Callable[[], T]) -> T | None:
        """The result of a step, None if Ctrl-C came before its end or it took too long."""
        try:
            self.n_done += 1
            if not self.interrupted:
                found = step()
                self.bar.show(self.n_done, {})
                return found
        except KeyboardInterrupt:
            self.interrupted = True
        except TimeoutError:
            self.notes.append(f"{_MODES}: they were not found within {_MODES_SECONDS:g} s.")
            return None
        self.left_out.append(what)
        return None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was left out, and why."""
        if not self.left_out:
            return tuple(self.notes)
        left = sentence_list(self.left_out)
        return (*self.notes, f"Ctrl-C was pressed before all was computed. Left out: {left}.")


def gather(
    best: Estimate,
    draws: Draws,
    *,
    level: float = 0.95,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
    brief: bool = False,
) -> Facts:
    """Compute what the page states; what would take minutes is left out, and said to be.

    The first Ctrl-C leaves out the step it meets and all that follow; `brief` leaves out all.
    """
    bar = make_progress(progress, 9, "report", Stopper())
    steps = _Steps(bar, brief)
    heavy = draws.n_items * draws.n_distinct > _HEAVY
    tables = min(draws.n_distinct, 200) ** 2 * (draws.n_items + int(draws.n_clusters.max()) ** 2)
    comparison = modes = certificate = None
    generator = make_rng(rng)
    # The modes are those that `epluribus modes` finds with the same seed, whatever comes before.
    modes_rng = _fresh(generator)
    try:
        n_clusters = uncertainty.n_clusters_posterior(draws, best, level=level)
        items = steps.run(
            "the certainty of items", lambda: uncertainty.items(best, draws, n_jobs=n_jobs)
        )
        clusters = steps.run(
            "the solidity of clusters", lambda: uncertainty.clusters(best, draws, n_jobs=n_jobs)
        )
        ball = steps.run("the credible ball", lambda: uncertainty.credible_ball(best, draws, level))
        values = steps.run("the trace of the loss", lambda: _values(best, draws))
        error = steps.run(
            "the diagnostics of the chains", lambda: uncertainty.error(best, draws, n_jobs=n_jobs)
        )
        picture = steps.run("the similarity matrix", lambda: heatmap(best, draws, n_jobs))
        if heavy:
            steps.notes += [_too_many(what, draws) for what in _TOO_HEAVY]
        else:
            comparison = steps.run("other losses", lambda: _compare(best, draws, generator, n_jobs))
            if tables > _STEPS:
                steps.notes.append(_too_many(_MODES, draws))
            else:
                modes = steps.run(
                    "modes",
                    lambda: uncertainty.modes(
                        draws, best.loss, rng=modes_rng, n_jobs=n_jobs, time_limit=_MODES_SECONDS
                    ),
                )
            certificate = steps.run(
                "the certificate",
                lambda: uncertainty.certificate(best, draws, time_limit=_SECONDS, n_jobs=n_jobs),
            )
    finally:
        bar.close()
    return Facts(
        best=best,
        draws=draws,
        n_clusters=n_clusters,
        items=items,
        clusters=clusters,
        ball=ball,
        error=error,
        heatmap=picture,
        values=values,
        comparison=comparison,
        modes=modes,
        certificate=certificate,
        skipped=steps.sentences,
        interrupted=steps.interrupted,
    )


def _fresh(generator: np.random.Generator) -> np.random.Generator:
    """One that spawns the same children as this would now."""
    seed = generator.bit_generator.seed_seq
    if not isinstance(seed, np.random.SeedSequence):
        return generator
    return np.random.default_rng(
        np.random.SeedSequence(
            seed.entropy,
            spawn_key=seed.spawn_key,
            pool_size=seed.pool_size,
            n_children_spawned=seed.n_children_spawned,
        )
    )


def _values(best: Estimate, draws: Draws) -> NDArray[np.float64]:
    return draw_losses(best.labels, draws, best.loss)[draws.index]


def _too_many(what: str, draws: Draws) -> str:
    return (
        f"{what} because they would take long: {count(draws.n_distinct, 'distinct draw')} of "
        f"{count(draws.n_items, 'item')} with up to {int(draws.n_clusters.max()):,} clusters."
    )


def _compare(
    best: Estimate, draws: Draws, rng: np.random.Generator, n_jobs: int | None
) -> Comparison:
    names = losses.available() if draws.n_items <= ALL_LOSSES else _QUICK
    others = []
    for name in names:
        if name != best.loss.name:
            found = minimize(draws, name, rng=rng, n_jobs=n_jobs, time_limit=_SECONDS)
            if found.interrupted:
                raise KeyboardInterrupt
            others.append(found)
    estimates = (best, *others)
    mass = draws.weights / draws.total_weight
    return Comparison(
        estimates,
        np.array(
            [
                [float(draw_losses(a.labels, draws, b.loss) @ mass) for b in estimates]
                for a in estimates
            ]
        ),
        np.array([loss(best.labels, other.labels, "vi") for other in estimates]),
    )
