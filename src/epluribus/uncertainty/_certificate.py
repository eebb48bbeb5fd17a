"""Certificates: how far from the optimum an estimate can be at most.

A search finds a good partition; a lower bound L on the smallest expected loss says how good it is at
least: a partition with expected loss psi is at most (psi - L) / L above the optimum. The bounds are
enumeration for a few items; a linear program for Binder's loss; for the variation of information prices of
items, parts of the items, the optima of a few draws at a time, prices by cluster size, and Jensen's
inequality; the triangle inequality between draws for any metric; and for the 0-1 loss the most probable draw,
which is the optimum. Where several apply, the largest is taken. Their formulas are in `_bounds.py`,
`_set_prices.py`, `_item_parts.py`, `_few_draws.py` and `_vi_bound.py`.

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
from epluribus.engine import NO_BOUNDS, Settings, draw_losses
from epluribus.estimate import Estimate, raise_if_interrupted, read_best
from epluribus.losses.base import Loss
from epluribus.partition import as_labels
from epluribus.search._exact import best_of_all, solves
from epluribus.search.within import minimize_within
from epluribus.uncertainty._bounds import binder_bound, item_bound
from epluribus.uncertainty._few_draws import FEW, MORE, FewDrawsBound
from epluribus.uncertainty._item_parts import divide
from epluribus.uncertainty._matching import Matched, match_draws
from epluribus.uncertainty._set_prices import set_bound
from epluribus.uncertainty._vi_bound import vi_bound

_ROUNDING = 1e-9
"""Losses that differ by less than this share are equal: one comes from counts, the other from a bound."""
_MANY = 150
"""Items from which on the bound by prices rarely ends in seconds."""
_SETS, _SHORT, _SHORT_SETS = 0.6, 30.0, 0.15
"""Share of the time for the check of all clusters; seconds below which other bounds need more of it, and the
share then."""
_EVERY = 60**2
"""Parts of the items have time in proportion to the squares of their sizes, plus this: each has some."""
_CLOSE = 0.05
"""A relative gap that prices rarely make smaller with many items."""


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
    rising: float = 0.0
    """How fast the bound still rose at the end, per second, as a share of the expected loss; 0 if unknown."""

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
        return Card(
            "",
            f"{self.verdict}: expected loss {self.expected_loss:.6g} ({self.loss.name}), {text}",
            f"  by {self.method}, in {self.seconds:.2g} s{self._ending}",
            heading=f"Certificate: {self.verdict}",
            indent="",
        )

    @property
    def _ending(self) -> str:
        """That the clock cut the work, and what more time might have brought."""
        return "" if not self.cut or self.proved else f"; cut by the time limit{self.moving}"

    @property
    def moving(self) -> str:
        """How fast the bound still rose when the clock cut the work, as the end of a sentence."""
        if self.rising <= 0:
            return ": a longer run may prove more"
        points = _round_up(1000 * self.rising)
        return f", while the gap still fell by {points} points of a percent per 10 s"


def certificate(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    *,
    loss: LossLike | None = None,
    time_limit: float | None = 10.0,
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
        Seconds, 10 by default; None for no limit. The bound reached by then is returned: it
        holds, and a longer run may improve it.
    n_jobs : int, optional
        Threads; all cores by default.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``, with the percent of
        the time that is gone.

    Returns
    -------
    Certificate
        With `verdict`, `lower_bound`, `gap`, and the `method` that gave the bound.

    Notes
    -----
    The bound is about the expected loss over these draws; for how far that may be from the posterior
    see `error`. If the estimate was made with a given number of clusters, the bound for VI is about these
    partitions. Binder's loss is often solved to optimality for a few hundred items, VI sometimes for
    about a hundred; the page on certificates has the theory and what to expect: 8 to 11 % in a minute on
    three samples of 400 to 2,000 items. For the other metrics, and for VI with more items, the gaps were
    15 to 46 %. A wide gap is a weakness of the bound and says nothing against the estimate.

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
        bound, method, rising = question.lower_bound()
    finally:
        bar.close()
    # Ctrl-C is raised now: the caller wants out, not a half-finished bound.
    stopper.check()
    # The minimum is at most the partition's own loss; rounding may have put the bound above it.
    bound = min(bound, value)
    share = rising / value if value > 0 else 0.0
    seconds = time.perf_counter() - began
    return Certificate(value, bound, method, chosen, seconds, bool(stopper.flag[0]), share)


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
    is_part: bool = False
    """Whether these are some of the items: they are not divided again."""

    def lower_bound(self) -> tuple[float, str, float]:
        """The largest bound that is known for this loss, its name, and how fast it was still rising."""
        draws, loss = self.draws, self.loss
        asked = self.settings.constraints
        # Few items: the minimum itself.
        if solves(draws, loss):
            bounds = Settings(self.settings.k_min, self.settings.k_max, constraints=asked)
            under = "a few items" if asked is None else "a few items under the constraints"
            return best_of_all(draws, loss, bounds)[1], f"the proven optimum of {under}", 0.0
        if draws.has_missing:
            least = 0.0 if loss.metric or loss.family is not None else -math.inf
            return least, "no bound for draws with missing labels", 0.0
        bound, method, rising = self._without_constraints()
        # Constraints leave fewer partitions, so the smallest loss can only be larger.
        if asked is not None:
            method += ", which holds without the constraints and so with them"
        return bound, method, rising

    def _without_constraints(self) -> tuple[float, str, float]:
        """The same for many items, whatever the constraints."""
        draws, loss, stopper, n_jobs = self.draws, self.loss, self.stopper, self.n_jobs
        # The expected 0-1 loss of a partition is one minus its probability.
        if loss.family == "zero_one":
            return 1.0 - float(draws.shares.max()), "the most probable draw", 0.0
        if loss.family == "binder":
            cost = loss.parameters["cost"]
            return binder_bound(draws, cost, stopper, n_jobs), "linear programming", 0.0
        # Every bound that applies, with its name; the largest is the answer.
        bounds = [(-math.inf, "no bound for this loss", 0.0)]
        # The built-in losses are not negative; nothing is known about a user's.
        if loss.metric or loss.family is not None:
            bounds.append((0.0, "the loss not being negative", 0.0))
        matched: list[Matched] = []
        if loss.metric or loss.family == "vi":
            matched = match_draws(draws, loss, stopper, n_jobs)
        if loss.metric:
            bound = sum(block.value for block in matched)
            # A sum of many distances: rounding must not lift it above the minimum.
            bounds.append((bound * (1 - _ROUNDING), "the triangle inequality between draws", 0.0))
        if loss.family == "vi" and not stopper.stopped:
            bound = item_bound(draws, loss.parameters["cost"], stopper, n_jobs)
            bounds.append((bound * (1 - _ROUNDING), "Jensen's inequality", 0.0))
            self._show(max(bounds)[0])
            self._prove(bounds, matched)
        return max(bounds)

    def _prove(self, bounds: list[tuple[float, str, float]], matched: list[Matched]) -> None:
        """Add the four strong bounds for the variation of information, unless the loss is reached before."""

        def gap() -> float:
            # Nothing to gain in the last digits, nor when the time is up.
            left = 1.0 - max(bounds)[0] / self.value if self.value > 0 else 0.0
            return 0.0 if self.stopper.stopped or left < _ROUNDING else left

        if not gap():
            return
        if self.settings.undecided is None:
            short = self.stopper.left is not None and self.stopper.left < _SHORT
            sets = set_bound(
                self.draws, self.labels, self.value, self.loss.parameters["cost"], self.settings,
                _SHORT_SETS if short else _SETS, self.stopper, self.n_jobs,
            )  # fmt: skip
            bounds.append((sets, "prices of items, checked for all clusters", 0.0))
            self._show(max(bounds)[0])
        if gap() and not self.is_part:
            self._by_parts(bounds)
        if not gap():
            return
        few = FewDrawsBound(
            self.draws, matched, self.labels, self.loss, self.stopper, self.n_jobs, self._show
        )
        name = "the exact optima of a few draws at a time"
        bounds.append((few.grow(FEW, share=0.25), name, 0.0))
        # Prices need all the time there is with many items: they come last where little is left to gain.
        prices_last = self.draws.n_items > _MANY and gap() < _CLOSE
        if gap() and not prices_last:
            bounds.append(self._by_size())
        if gap():
            bounds.append((few.grow(MORE), name, 0.0))
        if gap() and prices_last:
            bounds.append(self._by_size())

    def _by_parts(self, bounds: list[tuple[float, str, float]]) -> None:
        """Add the bound by parts of the items, where little of the loss is between them."""
        cost = self.loss.parameters["cost"]
        if self.settings.undecided is not None or not 0.0 < cost < 2.0:
            return
        division = divide(self.draws, self.labels, self.value, cost, self.stopper)
        if division is None:
            return
        # Without any loss parts are always the easier question; else they are for many items.
        free = division.lost < _ROUNDING * self.value
        if not (free or self.draws.n_items > _MANY):
            return
        if self.value - division.lost <= max(bounds)[0]:
            return
        # The small ones first: what they leave of their time goes to the others.
        parts = sorted((part for part in division.parts if len(part) > 1), key=len)
        work = [len(part) ** 2 + _EVERY for part in parts]
        bound = division.between
        for at, part in enumerate(parts):
            left = self.stopper.left
            if self.stopper.stopped:
                break  # parts that had no turn count as 0
            limit = None if left is None else left * work[at] / sum(work[at:])
            bound += self._part(part, limit) * len(part) / self.draws.n_items
            self._show(max(bounds)[0])
        bounds.append((bound, "parts of the items, each on its own", 0.0))
        self._show(max(bounds)[0])

    def _part(self, items: IntArray, limit: float | None) -> float:
        """The bound for some of the items."""
        whole, stopper = self.draws, Stopper(limit)
        rows = whole.distinct[:, items][whole.index]
        draws = Draws(rows, weights=whole.draw_weights)
        best = minimize_within(
            draws, self.loss, None if limit is None else 0.2 * limit, rng=0, n_jobs=self.n_jobs
        )
        raise_if_interrupted(best)
        # A partition of all items has at most as many clusters in the part.
        bounds = Settings(k_max=self.settings.k_max)
        question = _Question(
            draws, self.loss, best.labels, best.expected_loss, bounds, stopper, self.n_jobs,
            Progress(), time.perf_counter(), is_part=True,
        )  # fmt: skip
        found = question.lower_bound()[0]
        if stopper.interrupted:
            self.stopper.interrupt()
        return found

    def _by_size(self) -> tuple[float, str, float]:
        """The bound by prices for cluster sizes."""
        found = vi_bound(
            self.draws,
            self.labels,
            self.value,
            self.loss.parameters["cost"],
            np.arange(self.settings.k_min, self.settings.most(self.draws.n_items) + 1),
            self.stopper,
            self.n_jobs,
            lambda labels: self.draws.mean(draw_losses(as_labels(labels), self.draws, self.loss)),
            self._show,
        )
        return found.bound, "prices by cluster size", found.rising

    def _show(self, bound: float) -> None:
        """Progress in percent of the time, with the gap so far."""
        gap = f"{100 * (self.value / bound - 1):.3g} %" if bound > 0 else "no bound"
        limit = self.stopper.deadline
        spent = time.perf_counter() - self.began
        share = 0.0 if limit is None else spent / max(1e-9, limit - self.began)
        self.bar.show(min(100, int(100 * share)), {"gap": gap})


def _round_up(percent: float) -> str:
    """A percentage with two significant digits, rounded up so that the claim still holds."""
    # One unit of the second digit: 0.1 for 3.31, 0.00001 for 0.000125.
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / step) * step:.{max(0, -round(math.log10(step)))}f}"
