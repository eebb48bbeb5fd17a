"""Certificates: how far from the optimum an estimate can be at most.

A search finds a good partition; a lower bound L on the smallest expected loss says how good it is at
least: a partition with expected loss psi is at most (psi - L) / L above the optimum. The bounds are
enumeration for a few items; a linear program for Binder's loss; for the variation of information prices of
items, which prove or give up, and prices by cluster size; the triangle inequality between draws for any
metric; and for the 0-1 loss the most probable draw, which is the optimum. Where several apply, the largest is
taken, and named. Their formulas are in `_bounds.py`, `_set_prices.py` and `_size_prices.py`.

Work is counted, not seconds: without a time limit the same draws give the same certificate everywhere.

Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from epluribus._cards import Card, Shown
from epluribus._parallel import Stopper, resolve_jobs
from epluribus._progress import Progress, ProgressLike, make_progress
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.search._exact import best_of_all, solves
from epluribus.settings import NO_BOUNDS, Settings
from epluribus.uncertainty._bounds import binder_bound, triangle_bound
from epluribus.uncertainty._set_prices import set_bound
from epluribus.uncertainty._size_prices import size_bound

_ROUNDING = 1e-9
"""Losses that differ by less than this share are equal: one comes from counts, the other from a bound."""


@dataclass(frozen=True, repr=False, eq=False)
class Certificate(Shown):
    """A lower bound on the smallest expected loss, and the gap between it and a partition."""

    expected_loss: float
    """Expected loss of the partition."""
    lower_bound: float
    """No partition has a smaller expected loss; minus infinity if nothing is known."""
    method: str
    """Where the bound comes from, in words."""
    loss: Loss
    """The loss that the bound is for."""
    seconds: float
    """Time it took."""
    cut: bool = False
    """Whether the time limit ended the work: a longer run may give a better bound."""

    @property
    def gap(self) -> float:
        """Expected loss minus lower bound; never negative."""
        return self.expected_loss - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The expected loss is at most this share above the minimum; infinite if the bound is 0 or less."""
        # What rounding leaves is not a gap.
        if self.proved:
            return 0.0
        return self.gap / self.lower_bound if self.lower_bound > 0 else math.inf

    @property
    def proved(self) -> bool:
        """Whether the partition is proved optimal: the gap is zero up to rounding."""
        return self.gap <= _ROUNDING * abs(self.expected_loss)

    @property
    def verdict(self) -> str:
        """``"proved optimal"``, ``"within 3.4 %"`` (of the minimum), or ``"no bound"``."""
        if self.proved or math.isinf(self.relative_gap):
            return "proved optimal" if self.proved else "no bound"
        return f"within {_round_up(100 * self.relative_gap)} %"

    def __repr__(self) -> str:
        return (
            f"Certificate({self.verdict!r}, expected_loss={self.expected_loss:.6g}, "
            f"lower_bound={self.lower_bound:.6g}, loss={self.loss.name!r})"
        )

    def _card(self) -> Card:
        if self.proved:
            text = "no partition has a smaller expected loss"
        elif math.isinf(self.relative_gap):
            text = "nothing is known about the smallest expected loss"
        else:
            text = f"no partition has an expected loss below {self.lower_bound:.6g}"
        cut = self.cut and not self.proved
        ending = "; cut by the time limit: a longer run may prove more" if cut else ""
        return Card(
            "",
            f"{self.verdict}: expected loss {self.expected_loss:.6g} ({self.loss.name}), {text}",
            f"  by {self.method}, in {self.seconds:.2g} s{ending}",
            heading=f"Certificate: {self.verdict}",
            indent="",
        )


def certificate(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    *,
    loss: LossLike | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
) -> Certificate:
    """A lower bound on the smallest expected loss: the estimate is proved optimal, or nearly so.

    In a paper: *the expected loss of the estimate is at most 3.4 % above the smallest possible for
    these draws*, or, if that is the verdict, *the estimate was proved optimal for these draws*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, optional
        By default the loss that `best` was made for, "vi" for plain labels. If your own loss is declared
        a metric, that is taken on trust.
    time_limit : float, optional
        Seconds after which the bound reached by then is returned: it holds, and a longer run may improve it.
        By default work is counted instead, up to about a minute of one core: the same draws give the same
        certificate everywhere.
    n_jobs : int, optional
        Threads; all cores by default.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``, with the percent of
        the work, or of the time, that is gone.

    Returns
    -------
    Certificate
        With `verdict`, `lower_bound`, `gap`, and the `method` that gave the bound.

    Notes
    -----
    The bound is about the expected loss over these draws; for how far that may be from the posterior
    see `error`. If the estimate was made with a given number of clusters, the bound for VI is about these
    partitions. Binder's loss is often solved to optimality for a few hundred items, VI for about a hundred,
    or up to 0.0001 %; the page on certificates has the theory and what to expect. For the other metrics, and
    for VI with many items, gaps are 10 to 46 %. A wide gap is a weakness of the bound and says nothing
    against the estimate.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]
    >>> best = epl.minimize(draws, "binder", rng=1)
    >>> epl.uncertainty.certificate(best, draws).verdict
    'proved optimal'
    """
    began = time.perf_counter()
    labels, sample, chosen = read_best(best, draws, loss)
    stopper = Stopper(time_limit)
    bar = make_progress(progress, 100, f"certificate {chosen.name}", stopper)
    value = sample.mean(draw_losses(labels, sample, chosen))
    # An estimate with a given number of clusters is compared with the best of these.
    bounds = best.settings if isinstance(best, Estimate) else NO_BOUNDS
    question = _Question(
        sample, chosen, labels, value, bounds, stopper, resolve_jobs(n_jobs), bar, began
    )
    try:
        bound, method = question.lower_bound()
    finally:
        bar.close()
    # Ctrl-C is raised now: the caller wants out, not a half-finished bound.
    stopper.check()
    # The minimum is at most the partition's own loss; rounding may have put the bound above it.
    bound = min(bound, value)
    seconds = time.perf_counter() - began
    return Certificate(value, bound, method, chosen, seconds, bool(stopper.flag[0]))


@dataclass(frozen=True)
class _Question:
    """What is asked: how small the expected loss can be."""

    draws: Draws
    loss: Loss
    labels: IntArray
    value: float
    settings: Settings
    stopper: Stopper
    n_jobs: int
    bar: Progress
    began: float

    def lower_bound(self) -> tuple[float, str]:
        """The largest bound that is known for this loss, and its name."""
        draws, loss = self.draws, self.loss
        asked = self.settings.constraints
        # Few items: the minimum itself.
        if solves(draws, loss):
            bounds = Settings(self.settings.k_min, self.settings.k_max, constraints=asked)
            under = "a few items" if asked is None else "a few items under the constraints"
            return best_of_all(draws, loss, bounds)[1], f"the proven optimum of {under}"
        if draws.has_missing:
            least = 0.0 if loss.metric or loss.family is not None else -math.inf
            return least, "no bound for draws with missing labels"
        bound, method = self._without_constraints()
        # Constraints leave fewer partitions, so the smallest loss can only be larger.
        if asked is not None:
            method += ", which holds without the constraints and so with them"
        return bound, method

    def _without_constraints(self) -> tuple[float, str]:
        """The same for many items, whatever the constraints."""
        draws, loss, stopper, n_jobs = self.draws, self.loss, self.stopper, self.n_jobs
        # The expected 0-1 loss of a partition is one minus its probability.
        if loss.family == "zero_one":
            return 1.0 - float(draws.shares.max()), "the most probable draw"
        if loss.family == "binder":
            cost = loss.parameters["cost"]
            return binder_bound(draws, cost, stopper, n_jobs), "linear programming"
        # Every bound that applies, with its name; the largest is the answer.
        bounds = [(-math.inf, "no bound for this loss")]
        # The built-in losses are not negative; nothing is known about a user's.
        if loss.metric or loss.family is not None:
            bounds.append((0.0, "the loss not being negative"))
        if loss.metric:
            bound = triangle_bound(draws, loss, stopper, n_jobs)
            # A sum of many distances: rounding must not lift it above the minimum.
            bounds.append((bound * (1 - _ROUNDING), "the triangle inequality between draws"))
            self._show(max(bounds)[0], 0.0)
        # Prices of items prove or give up in seconds; prices by cluster size take their time.
        if loss.family == "vi" and self._open(max(bounds)[0]):
            cost = loss.parameters["cost"]
            given = (draws, self.labels, self.value, cost)
            bound = set_bound(*given, stopper, n_jobs)
            bounds.append((bound, "prices of items, checked for all clusters"))
            if self._open(max(bounds)[0]):
                numbers = np.arange(self.settings.k_min, self.settings.most(draws.n_items) + 1)
                bound = size_bound(*given, numbers, stopper, n_jobs, self._show)
                bounds.append((bound, "prices by cluster size"))
        return max(bounds)

    def _open(self, bound: float) -> bool:
        """Whether there is something to gain, and time for it."""
        return not self.stopper.stopped and self.value - bound > _ROUNDING * abs(self.value)

    def _show(self, bound: float, work: float) -> None:
        """Progress in percent of the work or of the time, whichever is nearer to its end; the gap so far."""
        gap = f"{100 * (self.value / bound - 1):.3g} %" if bound > 0 else "no bound"
        limit = self.stopper.deadline
        spent = time.perf_counter() - self.began
        share = work if limit is None else max(work, spent / max(1e-9, limit - self.began))
        self.bar.show(min(100, int(100 * share)), {"gap": gap})


def _round_up(percent: float) -> str:
    """A percentage with two significant digits, rounded up so that the claim still holds."""
    # One unit of the second digit: 0.1 for 3.31, 0.00001 for 0.000125.
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / step) * step:.{max(0, -round(math.log10(step)))}f}"
