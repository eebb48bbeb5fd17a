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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from epluribus._cards import Card, Shown
from epluribus._parallel import Stopper, resolve_jobs
from epluribus._progress import Progress, ProgressLike
from epluribus._text import worded
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.search._exact import best_of_all, solves
from epluribus.settings import NO_BOUNDS, Settings
from epluribus.uncertainty._bounds import binder_bound, set_bound, triangle_bound
from epluribus.uncertainty._size_prices import MOST_ITEMS, SizePrices

_ROUNDING = 1e-9
"""Losses that differ by less than this share, or a thousandth of this, are equal: one comes from counts, the
other from a bound."""


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
    cut: bool = False
    """Whether the time limit ended the work: a longer run may give a better bound."""
    among: str = ""
    """Which partitions the bound is about, such as "with exactly 2 clusters"; empty for all."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

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
        """Whether the partition is proved optimal, among those that the bound is about, up to rounding."""
        return self.gap <= _ROUNDING * max(abs(self.expected_loss), 1e-3)

    @property
    def verdict(self) -> str:
        """``"proved optimal"``, ``"within 3.4%"`` (of the minimum), or ``"no bound"``.

        Of an estimate made with bounds or constraints, ``"proved optimal among partitions with exactly 2 clusters"``.
        """
        if math.isinf(self.relative_gap):
            return "no bound"
        within = "proved optimal"
        if not self.proved:
            within = f"within {_round_up(100 * self.relative_gap)}%"
        return within + (f" among partitions {self.among}" if self.among else "")

    def _card(self) -> Card:
        partition = " ".join(filter(None, ["partition", self.among]))
        if self.proved:
            text = f"no {partition} has a smaller expected loss"
        elif math.isinf(self.lower_bound):
            text = "nothing is known about the smallest expected loss"
        else:
            text = f"no {partition} has one below {self.lower_bound:.6g}"
        cut = self.cut and not self.proved
        ending = "; cut by the time limit: a longer run may prove more" if cut else ""
        loss = f"expected loss {self.expected_loss:.6g} ({self.loss.name})"
        lines = f"{self.verdict}: {loss}, {text}", f"  by {self.method}{ending}"
        told = (worded(line, self.kind) for line in lines)
        return Card("", *told, heading=f"Certificate: {self.verdict}", indent="")


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

    In a paper: *the expected loss of the estimate is at most 3.4% above the smallest possible for
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
        By default work is counted instead, up to about half a minute of one core: the same draws give the same
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
    see `error`. If the estimate was made with a given number of clusters, bounds or constraints, so is the
    certificate: it compares with the partitions that these allow, and says so. Binder's loss is often solved to
    optimality for a few hundred items, VI for about a hundred, or up to 0.0001%; the page on certificates has the
    theory and what to expect. For the other metrics, and for VI with many items, gaps are 10 to 46%. A wide gap is a
    weakness of the bound and says nothing against the estimate.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]
    >>> best = epl.minimize(draws, "binder", rng=1)
    >>> epl.uncertainty.certificate(best, draws).verdict
    'proved optimal'
    """
    labels, sample, chosen = read_best(best, draws, loss)
    stopper = Stopper(time_limit)
    bar = Progress(progress, 100, f"certificate {chosen.name}", stopper)
    value = sample.mean(draw_losses(labels, sample, chosen))
    # An estimate made with bounds or constraints is compared with the partitions that these allow.
    settings = best.settings if isinstance(best, Estimate) else NO_BOUNDS
    settings = replace(settings, undecided=None)

    def show(bound: float, work: float) -> None:
        """Progress in percent of the work or of the time, whichever is nearer to its end; the gap so far."""
        gap = f"{100 * (value / bound - 1):.3g}%" if bound > 0 else "no bound"
        left = 1.0 if stopper.left is None or time_limit is None else stopper.left / time_limit
        bar.show(int(100 * max(work, 1.0 - left)), {"gap": gap})

    bound, method = -math.inf, "no bound for this loss"
    try:
        for one, name in _bounds(
            sample, chosen, labels, value, settings, stopper, resolve_jobs(n_jobs), show
        ):
            # A bound that is higher only by rounding does not take the name of the one before.
            if bound == -math.inf or one > bound + _ROUNDING * abs(value):
                bound, method = one, name
            show(bound, 0.0)
            if stopper.stopped or value - bound <= _ROUNDING * abs(value):
                break
    finally:
        bar.close()
    # Ctrl-C is raised now: the caller wants out, not a half-finished bound.
    stopper.check()
    # The minimum is at most the partition's own loss; rounding may have put the bound above it.
    cut = bool(stopper.flag[0])
    return Certificate(value, min(bound, value), method, chosen, cut, settings.bound, sample.kind)


def _bounds(
    draws: Draws,
    loss: Loss,
    labels: IntArray,
    value: float,
    settings: Settings,
    stopper: Stopper,
    n_jobs: int,
    show: Callable[[float, float], None],
) -> Iterator[tuple[float, str]]:
    """The bounds that apply, cheap ones first, with their names; `value` is the expected loss of the labels.

    Bounds and constraints leave fewer partitions, so that what holds for all partitions holds with them.
    """
    if solves(draws, loss):
        # Few items: the minimum itself.
        within = Settings(settings.k_min, settings.k_max, constraints=settings.constraints)
        yield best_of_all(draws, loss, within)[1], "the proven optimum of a few items"
        return
    # The built-in losses are not negative; nothing is known about a user's.
    if loss.metric or loss.family is not None:
        yield 0.0, "the loss not being negative"
    if draws.has_missing:
        return
    if loss.family == "zero_one":
        # The expected 0-1 loss of a partition is one minus its probability.
        yield 1.0 - float(draws.shares.max()), "the most probable draw"
    elif loss.family == "binder":
        cost = loss.parameters["cost"]
        yield binder_bound(draws, cost, stopper, n_jobs), "linear programming"
    elif loss.metric:
        bound = triangle_bound(draws, loss, stopper, n_jobs)
        # A sum of many distances: rounding must not lift it above the minimum.
        yield bound * (1 - 1e-10), "the triangle inequality between draws"
    if loss.family == "vi":
        given = (draws, labels, value, loss.parameters["cost"])
        # Prices of items prove or give up in seconds; prices by cluster size take their time.
        yield set_bound(*given, stopper, n_jobs), "prices of items, checked for all clusters"
        if draws.n_items <= MOST_ITEMS:
            numbers = np.arange(settings.k_min, settings.most(draws.n_items) + 1)
            bound = SizePrices(*given, numbers, stopper, n_jobs).run(show)
            yield bound, "prices for each cluster size"


def _round_up(percent: float) -> str:
    """A percentage with two significant digits, rounded up so that the claim still holds."""
    # One unit of the second digit: 0.1 for 3.31, 0.00001 for 0.000125.
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / step) * step:.{max(0, -round(math.log10(step)))}f}"
