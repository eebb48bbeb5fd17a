"""Monte Carlo error: how different the answer could have been with another run of the sampler.

The expected loss of a partition is a mean over draws that depend on each other. With x_t the loss
against draw t, w_t its weight, m the weighted mean of the losses and y_t = w_t (x_t - m) / mean(w), the
standard error of m is

    se = sd(y) / sqrt(n),

where n is the effective sample size of y over all chains (see `epluribus.diagnostics`). Two partitions
are compared by the same formula on the differences of their losses, draw by draw: whatever both share
cancels.

Where weights are unequal, few draws may carry the mean, and m +- 1.96 se covers too little. Three
corrections make up for that: y_t is divided by 1 - w_t / sum(w), as in the jackknife; se is multiplied by
t / 1.96, t the quantile of Student's distribution with ESS - 1 degrees of freedom; and by
1 + (1.08 g^2 + 1.21) / n, g the skewness of y, the leading terms of the Edgeworth expansion of the
coverage at 1.96 (Hall 1987). The effective sample size reported is then

    ESS = (sum w)^2 / sum w^2  min(1, n / T)

for T draws: the number of equal weights that would be as good (Kish 1965), times what autocorrelation leaves.

Hall, P. (1987). Edgeworth expansion for Student's t statistic under minimal moment conditions. Annals of
Probability 15, 920-931. doi:10.1214/aop/1176992073

Kish, L. (1965). Survey Sampling. Wiley.

Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., Buerkner, P.-C. (2021). Rank-normalization,
folding, and localization: an improved R-hat. Bayesian Analysis 16, 667-718. doi:10.1214/20-BA1221
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from epluribus._cards import Alert, Card, Part, Plain, Shown
from epluribus._text import count, worded
from epluribus._typing import DrawsLike, FloatArray, LabelsLike, LossLike
from epluribus.changes import what_differs
from epluribus.diagnostics import Agreement, by_chain, chain_agreement, ess
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.rows import all_equal
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss

_FEW_CARRY, _TAIL_LIMIT = 0.1, 0.7
"""Few draws carry the result if all are worth a smaller share of them; and, by Vehtari et al. (2024), importance
sampling is unreliable if the Pareto k of the weights is larger."""


@dataclass(frozen=True, repr=False, eq=False)
class MonteCarloError(Shown):
    """How far the expected loss may be from its value with infinitely many draws."""

    expected_loss: float
    """Weighted mean of the losses between the partition and the draws."""
    standard_error: float
    """Of the expected loss; NaN where it cannot be known: with fewer than 4 draws per chain, if all draws are equal, or
    if few of them carry the weight."""
    ess: float
    """Effective sample size of the losses: this many independent draws of equal weight would be as good; NaN if that
    cannot be known."""
    rhat: float
    """Rank-normalized split R-hat of the losses: near 1 when chains agree."""
    agreement: Agreement
    """Whether chains agree on which items belong together, with R-hat and effective sample sizes (bulk and
    tail) of the loss and of the number of clusters."""
    n_draws: int
    """Number of draws, all chains together."""
    n_chains: int
    loss: Loss
    """The loss."""
    few_carry: str = ""
    """A warning where few draws carry the weight, or its tail is heavy; empty otherwise."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    def _card(self) -> Card:
        mean = f"{plus_minus(self.expected_loss, self.standard_error)} ({self.loss.name})"
        few = self.few_carry and Alert(self.few_carry)
        if self.kind == "ensemble":  # without order and chains
            return Card(f"mean loss {mean}, from {count(self.n_draws, 'clustering')}", few)
        found, draws = self.agreement, count(self.n_draws, "draw")
        worth = f" are worth {self.ess:.4g} independent ones"
        if math.isnan(self.ess):
            worth = ": too few, or too much alike, to say what they are worth"
        series = [
            f"R-hat of the {one.name} {one.rhat:.4g}, effective draws {one.ess_bulk:,.0f} (bulk) and "
            f"{one.ess_tail:,.0f} (tail)"
            for one in found.series
            if not math.isnan(one.ess_bulk)
        ]
        verdict: Part = found.sentence if self.n_chains > 1 else ""  # one has nothing to agree with
        if found.agree is False:
            verdict = Alert(found.sentence)
        advice = found.advice and Alert(found.advice)
        draws += f" in {count(self.n_chains, 'chain')}{worth}"
        return Card(f"expected loss {mean}", draws, *series, verdict, advice, few)


@dataclass(frozen=True, repr=False, eq=False)
class Difference(Plain):
    """Expected losses of two partitions compared draw by draw."""

    difference: float
    """Expected loss of the first minus that of the second: negative if the first is better."""
    standard_error: float
    """Of the difference; NaN with fewer than 4 draws per chain."""
    ess: float
    """Effective sample size of the differences."""
    expected_losses: tuple[float, float]
    """Expected loss of the first and of the second partition."""
    loss: Loss
    changes: str = ""
    """How the second partition differs from the first, in words."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    @property
    def clear(self) -> bool:
        """Whether the difference is more than two standard errors, which is about 95% confidence."""
        return bool(abs(self.difference) > 2.0 * self.standard_error)  # False for NaN

    def __str__(self) -> str:
        size = plus_minus(abs(self.difference), self.standard_error)
        # The difference is A minus B: if it is negative, A has the smaller expected loss.
        better, worse = ("A", "B") if self.difference < 0 else ("B", "A")
        text = f"{better} is better than {worse} by {size} ({self.loss.name})"
        if self.difference == 0:
            text = f"A and B have the same expected loss ({self.loss.name}), {size} apart"
        elif not self.clear:
            text += ": these draws cannot tell them apart"
        changes = f"\n  {self.changes}" if self.changes and self.difference else ""
        return worded(text, self.kind) + changes


def error(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    *,
    loss: LossLike | None = None,
    n_jobs: int | None = None,
) -> MonteCarloError:
    """Monte Carlo standard error of the expected loss, and whether the chains agree.

    In a paper: *the expected loss was 0.87 with a Monte Carlo standard error of 0.004; the 4000
    draws were worth 1650 independent ones, R-hat was 1.002*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample, in the order it was drawn, with its chains.
    loss : str or Loss, optional
        By default the loss that `best` was made for, "vi" for plain labels.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    MonteCarloError

    Notes
    -----
    The partition is taken as given. That it was chosen as the best on the same draws makes its
    expected loss a little too small; see `stability` for how the choice itself moves.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> z = (np.random.default_rng(1).random((2, 500, 6)) < 0.1) ^ np.array([0, 0, 0, 1, 1, 1])
    >>> found = epl.uncertainty.error([0, 0, 0, 1, 1, 1], epl.Draws(z.astype(int)))
    >>> found.agreement.agree, round(found.expected_loss, 3), round(found.standard_error, 3)
    (True, 0.538, 0.019)
    """
    labels, sample, chosen = read_best(best, draws, loss)
    values = draw_losses(labels, sample, chosen)
    # R-hat asks whether the chains are alike: the weights of the draws play no part in that.
    agreement = chain_agreement(sample, n_jobs, series={"loss": values[sample.index]})
    mean, hat = mean_with_error(values, sample), agreement.series[0].rhat
    n, few = (sample.n_draws, sample.n_chains), warn_of_weights(sample)
    return MonteCarloError(*mean, hat, agreement, *n, chosen, few, sample.kind)


def compare(
    a: Estimate | LabelsLike,
    b: Estimate | LabelsLike,
    draws: DrawsLike,
    *,
    loss: LossLike | None = None,
) -> Difference:
    """Which of two partitions has the smaller expected loss, and whether the difference exceeds chance.

    In a paper: *partition A was better than B by 0.013 +- 0.004 bits*, the standard error being that
    of the mean difference, draw by draw.

    Parameters
    ----------
    a, b : Estimate or array_like of shape (n_items,)
        The partitions.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, optional
        By default the loss that `a` was made for, "vi" for plain labels.

    Returns
    -------
    Difference

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> z = (np.random.default_rng(1).random((500, 6)) < 0.1) ^ np.array([0, 0, 0, 1, 1, 1])
    >>> found = epl.uncertainty.compare([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], z.astype(int))
    >>> print(str(found).splitlines()[0])  # the second line says what differs
    A is better than B by 0.619 +- 0.025 (vi)
    """
    first, sample, chosen = read_best(a, draws, loss, "a")
    second, _, _ = read_best(b, sample, chosen, "b")
    # Losses of both against the same draws: a draw that is far from both adds to x and y alike, and its
    # effect cancels in x - y.
    x, y = (draw_losses(labels, sample, chosen) for labels in (first, second))
    mean = mean_with_error(x - y, sample)
    words = what_differs(first, second, names=sample.items, other="B")
    return Difference(*mean, (sample.mean(x), sample.mean(y)), chosen, words, sample.kind)


class Mean(NamedTuple):
    """A mean over the draws: the first fields of the results."""

    value: float
    standard_error: float
    ess: float


def mean_with_error(values: FloatArray, draws: Draws) -> Mean:
    """Weighted mean over the draws, with standard error and ESS, of one value per distinct partition."""
    # A chain that does not move says nothing about its error.
    if np.count_nonzero(draws.weights) == 1:
        return Mean(draws.mean(values), math.nan, math.nan)
    # Values relative to one of them, so that equal values have a variance of exactly 0.
    origin = values[draws.index[0]]
    shifted = (values - origin)[draws.index]
    # Differences in the last digits would otherwise pass for variance.
    if np.abs(shifted).max() <= 1e-12 * np.abs(values).max():
        shifted = np.zeros_like(shifted)
    weights, n = draws.draw_weights / draws.draw_weights.mean(), draws.n_draws
    shift = float(shifted @ weights) / n
    # y_t of the formula: how far draw t pulls the weighted mean.
    influence = weights * (shifted - shift)
    table = by_chain(influence, draws)
    # Chains were cut to the length of the shortest; a draw left out is worth as much as one kept, hence
    # the factor.
    size = ess(table, method="mean") * n / table.size
    worth, factor = size, 1.0
    if not all_equal(draws.draw_weights):
        # Few draws of large weight may seem to be worth more than there are of them.
        worth = _worth(draws) * min(1.0, size / n)
        influence = influence / np.maximum(1e-12, 1.0 - weights / n)
        centered = influence - influence.mean()
        scale = centered.std()
        if scale > 0:  # Student's and Edgeworth's factor
            skewness = float(((centered / scale) ** 3).mean())
            factor = float(stdtrit(max(1.0, worth - 1.0), 0.975) / ndtri(0.975))
            factor *= 1.0 + (1.08 * skewness**2 + 1.21) / size
        if worth < 4.0:  # the error of so few cannot be told
            factor = math.nan
    spread = np.sqrt((influence**2).sum() / max(1, n - 1))
    return Mean(float(origin) + shift, float(factor * spread / np.sqrt(size)), worth)


def warn_of_weights(draws: Draws) -> str:
    """A warning where few draws carry the weight, or its tail is heavy; empty otherwise."""
    worth, pareto_k, text = _worth(draws), _pareto_k(draws), ""
    if worth < _FEW_CARRY * draws.n_draws:
        text = (
            f"Few draws carry the weight: the {count(draws.n_draws, 'draw')} are worth {worth:.3g} of equal "
            "weight. The answer is that of these few; a better proposal, or more draws, would help."
        )
    elif pareto_k > _TAIL_LIMIT:
        text = (
            f"The weights have a heavy tail (Pareto k {pareto_k:.2f}, above {_TAIL_LIMIT}): draws "
            "that were not seen may matter, and the standard error is too small."
        )
    return worded(text, draws.kind)


def _worth(draws: Draws) -> float:
    """Number of equal weights that would be as good as these (Kish)."""
    weights = draws.draw_weights / draws.draw_weights.max()
    return float(weights.sum() ** 2 / (weights @ weights))


def _pareto_k(draws: Draws) -> float:
    """Shape of the tail of unequal weights; NaN where it cannot be fitted."""
    weights = draws.draw_weights[draws.draw_weights > 0]
    if all_equal(weights) or len(weights) < 25:
        return math.nan
    stats = import_module("arviz_stats.base").array_stats
    # ArviZ wants the logarithms of the inverse weights.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(stats.psislw(-np.log(weights))[1])
        except ValueError:  # the largest weights are all equal: there is no tail
            return math.nan


def plus_minus(value: float, standard_error: float) -> str:
    """For example 0.619 +- 0.025: two digits of the error, and the value to as many decimals."""
    if not np.isfinite(standard_error):
        return f"{value:.6g} (the draws do not tell its standard error)"
    if standard_error == 0:
        return f"{value:.6g} +- 0"
    # Decimals up to the second significant digit of the error: 3 for 0.013.
    decimals = max(0, 1 - int(np.floor(np.log10(standard_error))))
    return f"{value:.{decimals}f} +- {standard_error:.{decimals}f}"
