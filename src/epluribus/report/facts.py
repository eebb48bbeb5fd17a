"""Everything the page states, computed once.

Each field of `Facts` is filled by one step. A step that would take minutes is not begun, nor is one after the
time limit; Ctrl-C leaves out the step it meets and those after it. In every case a note on the page says what
is missing, and why.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus import losses, uncertainty
from epluribus._parallel import Stopper, finish
from epluribus._progress import ProgressLike, make_progress
from epluribus._text import count, sentence_list, span
from epluribus._typing import FloatArray
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, raise_if_interrupted
from epluribus.report.pictures import heatmap
from epluribus.search._minimize import minimize_within
from epluribus.search.comparison import Comparison, set_side_by_side

ALL_LOSSES = 200
"""Up to this many items the estimates for all losses are compared; above, only the quick, linear losses."""
_HEAVY = 2 * 10**8
"""Above this many labels (items times distinct draws) the steps that need further searches are left out."""
_CHAINS = 8
"""Most chains whose own estimates are shown where chains disagree."""
_SECONDS = 10.0
"""Time limit for the search for each other loss."""
_MODES_SECONDS = 20.0
"""Time limit for the modes; beyond it they are left out, so that those shown never depend on the clock."""
_STEP_NAMES = {
    "items": "the certainty of items",
    "clusters": "the solidity of clusters",
    "ball": "the credible ball",
    "values": "the trace of the loss",
    "error": "the diagnostics of the chains",
    "by_chain": "the answer of each chain",
    "heatmap": "the similarity matrix",
    "comparison": "other losses",
    "modes": "modes",
    "certificate": "the certificate",
}
"""What the notes call the steps, by the field of `Facts` that each fills."""
_LEFT_OUT = {
    "comparison": "Estimates for other losses are left out",
    "modes": "Modes are left out (the command `epluribus modes` finds them)",
    "certificate": "Lower bounds are left out (`epl.certificate(best, draws)` computes one)",
}
"""Beginning of the note on a step that would take too long; these are the steps that need searches."""


@dataclass(frozen=True)
class Facts:
    """The estimate, the draws, and what is known about both; None for what was left out."""

    best: Estimate
    draws: Draws
    bound: str
    """The bound on the number of clusters in the search, in words; empty if there was none."""
    n_clusters: uncertainty.NClusters
    """Posterior of the number of clusters: quick, and on every page."""
    items: uncertainty.ItemTable | None = None
    """Support of each item in its cluster, and its runner-up."""
    clusters: uncertainty.ClusterTable | None = None
    """Cohesion, separation and stability of each cluster."""
    ball: uncertainty.CredibleBall | None = None
    """The credible ball around the estimate, under its loss."""
    values: FloatArray | None = None
    """Loss between the estimate and each draw, of shape (n_draws,), in the order of the draws."""
    error: uncertainty.MonteCarloError | None = None
    """Precision of the expected loss, and whether the chains agree."""
    by_chain: tuple[Estimate, ...] | None = None
    """The estimate from the draws of each chain alone, where chains disagree."""
    heatmap: dict[str, Any] | None = None
    """What `pictures.heatmap` returns, for the script of the page."""
    comparison: Comparison | None = None
    """Estimates for several losses, the reported one first."""
    modes: uncertainty.Modes | None = None
    """A few partitions with weights."""
    certificate: uncertainty.Certificate | None = None
    """A lower bound on the smallest expected loss."""
    left_out: uncertainty.LeftOut | None = None
    """The undecided items; None if there are none. All other facts are about the decided ones."""
    data: FloatArray | None = None
    """The data behind the draws, of shape (n_items, n_columns), if they were given."""
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
    progress: ProgressLike = None,
    time_limit: float | None = None,
    brief: bool = False,
    skip: Collection[str] = (),
) -> Facts:
    """Compute what the page states; what would take minutes is left out, and a note says so.

    Parameters
    ----------
    best, draws
        The estimate and the draws behind it.
    bound : str
        The bound of the search, in words.
    level : float
        Probability of the credible ball and of the interval of the number of clusters.
    rng, n_jobs, progress, time_limit
        As for `write_report`. The bar shows one step per field of `Facts`.
    brief : bool
        Leave out all steps. The first Ctrl-C leaves out the step it meets and those after it.
    skip : collection of str
        Steps that are not needed, by the field of `Facts`; no note says that they are missing.
    """
    # A user's progress function runs in `show`; if Ctrl-C meets it there, the stopper keeps it for `check`.
    stopper = Stopper(time_limit)
    notes: list[str] = []
    found: dict[str, Any] = {}
    steps = _steps(best, draws, level, rng, n_jobs, stopper, found)
    steps = {name: step for name, step in steps.items() if name not in skip}
    # A step that would take minutes is left out before the bar is drawn, which counts the remaining ones.
    noun = "clustering" if draws.kind == "ensemble" else "draw"
    for name in filter(steps.__contains__, _too_heavy(draws)):
        del steps[name]
        notes.append(
            f"{_LEFT_OUT[name]} because they would take too long: "
            f"{count(draws.n_distinct, f'distinct {noun}')} of {count(draws.n_items, 'item')} with up to "
            f"{int(draws.n_clusters.max()):,} clusters."
        )
    if draws.has_missing:
        notes.append(
            f"Labels are missing: each {noun} counts for the items that it has seen, "
            f"{span(int(draws.n_seen.min()), int(draws.n_seen.max()))} of {count(draws.n_items, 'item')}."
        )
    n_clusters = finish(lambda: uncertainty.n_clusters_posterior(draws, best=best, level=level))
    bar = make_progress(progress, len(steps), "report", stopper)
    try:
        for number, (name, step) in enumerate(() if brief else steps.items(), 1):
            if stopper.stopped:
                break
            bar.show(number - 1, {"now": _STEP_NAMES[name]})
            stopper.check()
            found[name] = step()
            bar.show(number, {})
            stopper.check()
    except KeyboardInterrupt:
        pass  # the note below names what is missing
    finally:
        bar.close()
    left_out = [_STEP_NAMES[name] for name in steps if name not in found]
    if found.get("modes") is not None and not found["modes"].converged:
        # Those found by then depend on the clock.
        found["modes"] = None
        seconds = min(_MODES_SECONDS, time_limit or np.inf)
        notes.append(f"{_LEFT_OUT['modes']}: they were not found within {seconds:g} s.")
    if left_out:
        # A brief page is also what the command makes after Ctrl-C in the search: then that is the reason.
        asked = brief and not best.interrupted
        late = stopper.stopped and not stopper.interrupted
        why = "A brief page was asked for" if asked else "Ctrl-C was pressed before the end"
        why = f"The time limit of {time_limit:g} s was reached" if late else why
        notes.append(f"{why}. Left out: {sentence_list(left_out)}.")
    return Facts(best, draws, bound, n_clusters, **found, notes=tuple(notes))


def _steps(
    best: Estimate,
    draws: Draws,
    level: float,
    rng: np.random.Generator,
    n_jobs: int | None,
    stopper: Stopper,
    found: dict[str, Any],
) -> dict[str, Callable[[], Any]]:
    """The steps in the order in which they run, each by the field of `Facts` that it fills.

    The quick ones come first, so that Ctrl-C loses little. `found` has what earlier steps found.
    """
    # The modes must be those that `epluribus modes` finds with the same seed, whatever runs before them:
    # their generator has a copy of the seed sequence, so it spawns the same children as a fresh one.
    seed: Any = copy.deepcopy(rng.bit_generator.seed_seq)
    modes_rng = np.random.default_rng(seed)

    def within(seconds: float | None = None) -> float | None:
        """The time limit of a step: its own, or what is left of that of the page."""
        limits = [limit for limit in (seconds, stopper.left) if limit is not None]
        return max(1e-3, min(limits)) if limits else None

    return {
        "items": lambda: uncertainty.items(best, draws, n_jobs=n_jobs),
        "clusters": lambda: uncertainty.clusters(best, draws, n_jobs=n_jobs),
        "ball": lambda: uncertainty.credible_ball(best, draws, level),
        # One loss per distinct partition; `index` gives each draw the loss of its partition.
        "values": lambda: draw_losses(best.labels, draws, best.loss)[draws.index],
        "error": lambda: uncertainty.error(best, draws, n_jobs=n_jobs),
        "by_chain": lambda: _by_chain(best, draws, found["error"], n_jobs, within),
        "heatmap": lambda: heatmap(best, draws, n_jobs),
        "comparison": lambda: _other_losses(best, draws, rng, n_jobs, within),
        "modes": lambda: uncertainty.modes(
            draws, best.loss, rng=modes_rng, n_jobs=n_jobs, time_limit=within(_MODES_SECONDS)
        ),
        "certificate": lambda: uncertainty.certificate(
            best, draws, time_limit=within(), n_jobs=n_jobs
        ),
    }


def _too_heavy(draws: Draws) -> list[str]:
    """The names of the steps that would take minutes for these draws."""
    # A search takes some ten sweeps, each over the labels of all items in all distinct draws.
    if draws.n_items * draws.n_distinct > _HEAVY:
        return list(_LEFT_OUT)
    return []


def _by_chain(
    best: Estimate,
    draws: Draws,
    error: uncertainty.MonteCarloError,
    n_jobs: int | None,
    within: Callable[[float], float | None],
) -> tuple[Estimate, ...] | None:
    """What each chain says by itself, if they disagree; None where that is not asked or takes minutes."""
    one = draws.n_chains == 1 or draws.n_items * draws.n_distinct > _HEAVY
    if error.agreement.agree is not False or one:
        return None
    estimates = []
    for chain in range(min(draws.n_chains, _CHAINS)):
        # A seed of its own: the steps after this one are the same whether or not it runs.
        estimates.append(
            minimize_within(draws.chain(chain), best.loss, within(_SECONDS), rng=0, n_jobs=n_jobs)
        )
        raise_if_interrupted(estimates[-1])
    return tuple(estimates)


def _other_losses(
    best: Estimate,
    draws: Draws,
    rng: np.random.Generator,
    n_jobs: int | None,
    within: Callable[[float], float | None],
) -> Comparison:
    """The estimate beside those for the other losses, all under every loss."""
    estimates = [best]
    # With missing labels the search takes no others than linear losses.
    all_losses = draws.n_items <= ALL_LOSSES and not draws.has_missing
    for name in losses.available():
        is_quick = all_losses or losses.get(name).linear
        if is_quick and name != best.loss.name:
            estimates.append(minimize_within(draws, name, within(_SECONDS), rng=rng, n_jobs=n_jobs))
            # An interrupted search returns the best so far, which would not be a fair comparison.
            raise_if_interrupted(estimates[-1])
    return set_side_by_side(draws, estimates)
