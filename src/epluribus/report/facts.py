"""Everything the page states, computed once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus import losses, uncertainty
from epluribus._parallel import Stopper, finish
from epluribus._progress import ProgressLike, make_progress
from epluribus._text import count, sentence_list
from epluribus._typing import FloatArray
from epluribus.draws import Draws
from epluribus.engine import draw_losses
from epluribus.estimate import Comparison, Estimate, raise_if_interrupted, set_side_by_side
from epluribus.report.pictures import heatmap
from epluribus.search import minimize

ALL_LOSSES = 200
"""Up to this many items the estimates of all losses are compared; above, those of the quick, linear ones."""
_HEAVY = 2 * 10**8
"""Above this many labels (items times distinct draws) what takes further searches is left out."""
_STEPS = 2e9
"""Above this many steps modes are left out: they compare 200 draws with each other, clusters squared."""
_SECONDS = 10.0
"""Limit on the search for each other loss, and on the lower bound."""
_MODES_SECONDS = 20.0
"""Limit on the modes; above it they are left out, so that those shown never depend on the clock."""
_STEP_NAMES = {
    "items": "the certainty of items",
    "clusters": "the solidity of clusters",
    "ball": "the credible ball",
    "values": "the trace of the loss",
    "error": "the diagnostics of the chains",
    "heatmap": "the similarity matrix",
    "comparison": "other losses",
    "modes": "modes",
    "certificate": "the certificate",
}
"""What the page calls the steps, by the field of `Facts` that each fills."""
_LEFT_OUT = {
    "comparison": "Estimates for other losses are left out",
    "modes": "Modes are left out (the command `epluribus modes` finds them)",
    "certificate": "Lower bounds are left out (`epl.certificate(best, draws)` computes one)",
}
"""How a note on a step that would take too long begins."""


@dataclass(frozen=True)
class Facts:
    """The estimate, the draws, and what is known about both; None for what was left out."""

    best: Estimate
    draws: Draws
    bound: str
    """The bound on the number of clusters of the search, in words; empty if there was none."""
    n_clusters: uncertainty.NClusters
    items: uncertainty.ItemTable | None = None
    clusters: uncertainty.ClusterTable | None = None
    ball: uncertainty.CredibleBall | None = None
    values: FloatArray | None = None
    """Loss between the estimate and each draw."""
    error: uncertainty.MonteCarloError | None = None
    heatmap: dict[str, Any] | None = None
    comparison: Comparison | None = None
    """Estimates of several losses, the one reported first."""
    modes: uncertainty.Modes | None = None
    certificate: uncertainty.Certificate | None = None
    notes: tuple[str, ...] = ()
    """What was left out, and why, in sentences."""


def gather(
    best: Estimate,
    draws: Draws,
    *,
    bound: str,
    level: float,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
    brief: bool = False,
) -> Facts:
    """Compute what the page states; what would take minutes is left out, and a note says so.

    The first Ctrl-C leaves out the step it meets and all that follow; `brief` leaves out all.
    """
    steps = _steps(best, draws, level, rng, n_jobs)
    # A step that would take minutes is left out before the bar is drawn: the bar counts what is done.
    notes, found = [], {}
    for name in _too_heavy(draws):
        del steps[name]
        notes.append(
            f"{_LEFT_OUT[name]} because they would take too long: "
            f"{count(draws.n_distinct, 'distinct draw')} of {count(draws.n_items, 'item')} with up to "
            f"{int(draws.n_clusters.max()):,} clusters."
        )
    n_clusters = finish(lambda: uncertainty.n_clusters_posterior(draws, best, level=level))
    # A user's progress function runs in `show`; a Ctrl-C that meets it is kept by the stopper.
    stopper = Stopper()
    bar = make_progress(progress, len(steps), "report", stopper)
    try:
        for number, (name, step) in enumerate(() if brief else steps.items(), 1):
            try:
                found[name] = step()
            except TimeoutError:  # only the modes have a limit that is an error
                found[name] = None
                notes.append(f"{_LEFT_OUT[name]}: they were not found within {_MODES_SECONDS:g} s.")
            bar.show(number, {})
            stopper.check()
    except KeyboardInterrupt:
        pass  # what was not found is named below
    finally:
        bar.close()
    left_out = [_STEP_NAMES[name] for name in steps if name not in found]
    if left_out:
        # The command makes a brief page after a search that was interrupted.
        asked = brief and not best.interrupted
        why = "A brief page was asked for" if asked else "Ctrl-C was pressed before the end"
        notes.append(f"{why}. Left out: {sentence_list(left_out)}.")
    return Facts(best, draws, bound, n_clusters, **found, notes=tuple(notes))


def _steps(
    best: Estimate, draws: Draws, level: float, rng: np.random.Generator, n_jobs: int | None
) -> dict[str, Callable[[], Any]]:
    """What is computed, in this order, by the field of `Facts` that it fills."""
    # The modes are those that `epluribus modes` finds with the same seed, whatever comes before them: a
    # generator of their own spawns the children that this one would spawn first.
    seed: Any = copy.deepcopy(rng.bit_generator.seed_seq)
    modes_rng = np.random.default_rng(seed)
    return {
        "items": lambda: uncertainty.items(best, draws, n_jobs=n_jobs),
        "clusters": lambda: uncertainty.clusters(best, draws, n_jobs=n_jobs),
        "ball": lambda: uncertainty.credible_ball(best, draws, level),
        "values": lambda: draw_losses(best.labels, draws, best.loss)[draws.index],
        "error": lambda: uncertainty.error(best, draws, n_jobs=n_jobs),
        "heatmap": lambda: heatmap(best, draws, n_jobs),
        "comparison": lambda: _other_losses(best, draws, rng, n_jobs),
        "modes": lambda: uncertainty.modes(
            draws, best.loss, rng=modes_rng, n_jobs=n_jobs, time_limit=_MODES_SECONDS
        ),
        "certificate": lambda: uncertainty.certificate(
            best, draws, time_limit=_SECONDS, n_jobs=n_jobs
        ),
    }


def _too_heavy(draws: Draws) -> list[str]:
    """The steps that would take minutes, for these draws."""
    # A search takes some ten sweeps over all labels.
    if draws.n_items * draws.n_distinct > _HEAVY:
        return list(_LEFT_OUT)
    # Two draws are compared through the contingency table of their clusters.
    table = draws.n_items + int(draws.n_clusters.max()) ** 2
    return ["modes"] if min(draws.n_distinct, 200) ** 2 * table > _STEPS else []


def _other_losses(
    best: Estimate, draws: Draws, rng: np.random.Generator, n_jobs: int | None
) -> Comparison:
    """The estimate beside those for the other losses."""
    estimates = [best]
    for name in losses.available():
        is_quick = draws.n_items <= ALL_LOSSES or losses.get(name).linear
        if is_quick and name != best.loss.name:
            estimates.append(minimize(draws, name, rng=rng, n_jobs=n_jobs, time_limit=_SECONDS))
            # The search returns the best so far, which is no estimate to compare with.
            raise_if_interrupted(estimates[-1])
    return set_side_by_side(draws, estimates)
