"""Sentences of the page: the answer, warnings, the methods paragraph. Plain text, not HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from epluribus._text import count

if TYPE_CHECKING:
    from epluribus.report.facts import Facts

__all__ = ["Check", "answer", "checks", "degenerate", "methods", "number", "share"]

_RHAT = 1.01
_ESS = 400
"""Effective draws that Vehtari et al. (2021) advise for stable diagnostics of four chains."""
_SURE = 0.5
_NOTHING = "What is said below of uncertainty is that of these draws, which have none."
_TOLD = 0.5
"""A larger gap says little: it is on the page, not in the methods paragraph."""

_LOSSES = {
    "binder": "Binder's loss (Binder 1978)",
    "vi": "the variation of information (Meila 2007)",
    "nvi": "the normalized variation of information",
    "id": "the information distance",
    "nid": "the normalized information distance",
    "omari": "one minus the adjusted Rand index (Hubert & Arabie 1985)",
    "zero_one": "the 0-1 loss",
}
_PAPER = (
    "Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models. "
    "Statistics and Computing 28, 1169-1186. https://doi.org/10.1007/s11222-017-9786-y"
)
_REFERENCES = {
    "binder": "Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. "
    "https://doi.org/10.1093/biomet/65.1.31",
    "vi": "Meila, M. (2007). Comparing clusterings: an information based distance. Journal of "
    "Multivariate Analysis 98, 873-895. https://doi.org/10.1016/j.jmva.2006.11.013",
    "omari": "Hubert, L., Arabie, P. (1985). Comparing partitions. Journal of Classification 2, "
    "193-218. https://doi.org/10.1007/BF01908075",
}
_WADE = (
    "Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible "
    "balls. Bayesian Analysis 13, 559-626. https://doi.org/10.1214/17-BA1073"
)
_BALOCCHI = (
    "Balocchi, C., Wade, S. (2025). Understanding uncertainty in Bayesian cluster analysis. "
    "https://doi.org/10.48550/arXiv.2506.16295"
)
_VEHTARI = (
    "Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., Buerkner, P.-C. (2021). "
    "Rank-normalization, folding, and localization: an improved R-hat. Bayesian Analysis 16, "
    "667-718. https://doi.org/10.1214/20-BA1221"
)


class Check(NamedTuple):
    """One line of the diagnostics."""

    fine: bool
    text: str


def number(value: float, digits: int = 4) -> str:
    """A number as the page writes it; a dash where there is none."""
    if math.isnan(value):
        return "–"  # noqa: RUF001 - the dash of an empty cell
    return f"{value:.{digits}g}"


def share(probability: float) -> str:
    """A probability with two digits, never rounded to 0 or 1."""
    if 0 < probability < 0.005:
        return "below 0.01"
    return "above 0.99" if 0.995 <= probability < 1 else f"{probability:.2f}"


def interval(low: int, high: int) -> str:
    """'3' or 'between 3 and 5'."""
    return f"{low}" if low == high else f"between {low} and {high}"


def degenerate(facts: Facts) -> str:
    """Why the draws say nothing on uncertainty; empty if they do."""
    draws = facts.draws
    if draws.n_items == 1:
        return "There is one item only: there is nothing to part."
    if draws.n_draws == 1:
        return "There is one draw only: it says nothing on how sure the partition is."
    if int((draws.weights > 0).sum()) == 1:
        return "All draws are equal: did the sampler move?"
    return ""


def answer(facts: Facts) -> str:
    """The answer in a few sentences."""
    best, k = facts.best, facts.n_clusters
    sizes = sorted(best.sizes.tolist(), reverse=True)
    largest = f", the largest of {count(sizes[0], 'item')}" if len(sizes) > 1 else ""
    n_items, has = count(best.labels.size, "item"), count(best.n_clusters, "cluster")
    problem = degenerate(facts)
    if problem:
        text = f"The partition of the {n_items} has {has}{largest}. {problem}"
        return text if facts.draws.n_items == 1 else f"{text} {_NOTHING}"
    several = ""
    if facts.modes is not None and facts.modes.chosen and facts.modes.n_modes > 1:
        several = (
            f", but the draws fall into {facts.modes.n_modes} groups and no single partition is a "
            "fair summary: see Modes"
        )
    tried = f"{facts.bound} that were tried" if facts.bound else "that were tried"
    loss = best.loss.with_unit(number(best.expected_loss))
    text = (
        f"The best single partition of the {n_items} has {has}{largest}{several}. Of all partitions "
        f"{tried} it has the smallest expected posterior loss, {loss} ({best.loss.name}). "
        f"In the draws the number of clusters is {interval(*k.interval)} with probability "
        f"{share(k.mass)}. "
    )
    if facts.items is None:
        return text + "Ctrl-C was pressed before all was computed: what is missing is left out."
    unsure = int((facts.items.support < _SURE).sum())
    if unsure:
        verb = "shares" if unsure == 1 else "share"
        text += (
            f"{count(unsure, 'item')} {verb} a cluster with the others of the same cluster with a mean "
            f"probability below {_SURE:g}: look at them before reading much into their place."
        )
    else:
        text += (
            f"Every item shares a cluster with the others of its cluster with a mean probability of "
            f"at least {_SURE:g}."
        )
    return text


def checks(facts: Facts) -> list[Check]:
    """What speaks for and against the draws, the search and the summary, in plain words."""
    problem = degenerate(facts)
    if problem:
        return [Check(False, problem)]
    return [*_chain_checks(facts), *_search_checks(facts), *_summary_checks(facts)]


def _chain_checks(facts: Facts) -> list[Check]:
    error = facts.error
    if error is None:
        return []
    out = []
    if error.n_chains == 1:
        out.append(
            Check(
                False,
                "There is one chain only. One chain cannot show whether another would have found a "
                "different answer: run at least two, better four, from different starts.",
            )
        )
    if math.isnan(error.rhat):
        out.append(
            Check(False, "There are too few draws in a chain to judge whether it has mixed.")
        )
        return out
    if error.rhat <= _RHAT:
        out.append(
            Check(True, f"R-hat of the loss is {error.rhat:.3f}: parts of the chains look alike.")
        )
    else:
        out.append(
            Check(
                False,
                f"R-hat of the loss is {error.rhat:.3f}, above {_RHAT}: parts of the chains differ. "
                "Run the sampler longer, leave out more at the beginning, or run more chains.",
            )
        )
    worth = (
        f"The {count(error.n_draws, 'draw')} are worth about {error.ess:,.0f} independent ones for the "
        "expected loss"
    )
    out.append(
        Check(True, worth + ".")
        if error.ess >= _ESS
        else Check(False, f"{worth}, fewer than the {_ESS} often advised: run the sampler longer.")
    )
    if error.n_chains > 1:
        between = "" if error.pair is None else f" (items {error.pair[0]} and {error.pair[1]})"
        differ = (
            f"Chains differ by up to {error.disagreement:.2f} in the probability that two items share "
            f"a cluster{between}"
        )
        out.append(
            Check(True, differ + ", no more than chance explains.")
            if error.disagreement <= error.expected_disagreement
            else Check(False, differ + ", more than chance explains: they do not agree.")
        )
    return out


def _search_checks(facts: Facts) -> list[Check]:
    out = []
    if not facts.best.converged:
        out.append(
            Check(False, "The search was stopped early: a longer one may find a better partition.")
        )
    table = facts.comparison
    if table is not None:
        winner = int(np.argmin(table.expected_losses[:, 0]))
        if table.expected_losses[winner, 0] < facts.best.expected_loss * (1 - 1e-9):
            other = table.estimates[winner]
            out.append(
                Check(
                    False,
                    f"The estimate for {other.loss.name} has a smaller expected "
                    f"{facts.best.loss.name} loss than the one reported. "
                    + (
                        f"It was not searched for among partitions {facts.bound} only."
                        if facts.bound
                        else "Search with more starts, and without a bound on the number of clusters."
                    ),
                )
            )
    if facts.certificate is not None and facts.certificate.proved:
        out.append(Check(True, "The estimate is proved optimal for these draws."))
    return out


def _summary_checks(facts: Facts) -> list[Check]:
    out = []
    if facts.modes is not None and facts.modes.silhouettes:
        out.append(Check(facts.modes.n_modes == 1, facts.modes.sentence))
    k = facts.n_clusters
    low, high = k.interval
    found = f"{low}" if low == high else f"{low} to {high}"
    if not low <= facts.best.n_clusters <= high:
        out.append(
            Check(
                False,
                f"The estimate has {count(facts.best.n_clusters, 'cluster')}, outside the "
                f"{100 * k.level:g} % interval ({found}) of the draws. That is common where "
                "draws have small clusters that come and go: the two answer different questions.",
            )
        )
    return out


def methods(facts: Facts, version: str) -> tuple[str, list[str]]:
    """A paragraph for a paper, and its references."""
    best, draws, error, ball = facts.best, facts.draws, facts.error, facts.ball
    base = best.loss.name.partition("(")[0]
    named = _LOSSES.get(base, f"the loss '{best.loss.name}'")
    problem = degenerate(facts)
    if problem:
        return _no_methods(facts, version)
    chains = "one chain" if draws.n_chains == 1 else f"{draws.n_chains} chains"
    k = facts.n_clusters
    among = facts.bound or "with any number of clusters"
    runs = f" of {count(len(best.runs), 'run')}" if best.runs else ""
    early = "" if best.converged else ", which was stopped early"
    text = (
        f"The posterior distribution of the partition of the {count(draws.n_items, 'item')}, "
        f"represented by {count(draws.n_draws, 'draw')} from {chains}, was summarized by the partition "
        f"that minimizes the posterior expectation of {named} over all partitions {among} (Rastelli & "
        f"Friel 2018), found by a search{runs} with epluribus {version}{early}. The estimate has "
        f"{count(best.n_clusters, 'cluster')}; its expected loss is "
        f"{best.loss.with_unit(number(best.expected_loss))}"
    )
    references = [_PAPER]
    if error is not None and not math.isnan(error.standard_error):
        text += (
            f", with a Monte Carlo standard error of {number(error.standard_error, 2)} (effective "
            f"sample size {error.ess:,.0f}, split R-hat {error.rhat:.3f}; Vehtari et al. 2021)"
        )
        references.append(_VEHTARI)
    text += ". "
    if ball is not None:
        text += (
            f"The {100 * ball.level:g} % credible ball around it (Wade & Ghahramani 2018) has a radius "
            f"of {ball.loss.with_unit(number(ball.radius))}. "
        )
        references.append(_WADE)
    text += f"The number of clusters is {interval(*k.interval)} with posterior probability {share(k.mass)}."
    if base in _REFERENCES:
        references.append(_REFERENCES[base])
    if facts.certificate is not None and facts.certificate.relative_gap <= _TOLD:
        above = facts.certificate.verdict.removeprefix("within ")
        text += (
            " It was proved optimal for these draws."
            if facts.certificate.proved
            else f" Its expected loss is at most {above} above the smallest possible for these draws."
        )
    if facts.modes is not None and facts.modes.n_modes > 1:
        text += (
            f" The posterior was also summarized by {facts.modes.n_modes} partitions with weights "
            f"(Balocchi & Wade 2025)."
        )
        references.append(_BALOCCHI)
    return text, sorted(references)


def _no_methods(facts: Facts, version: str) -> tuple[str, list[str]]:
    """The paragraph where draws say nothing on uncertainty."""
    draws = facts.draws
    what = (
        "the only draw"
        if draws.n_draws == 1
        else f"the partition that all {count(draws.n_draws, 'draw')} are equal to"
    )
    text = (
        f"The estimate of the partition of the {count(draws.n_items, 'item')}, made with epluribus "
        f"{version}, is {what}, with {count(facts.best.n_clusters, 'cluster')}. The draws do not vary, "
        "so that nothing can be said on its uncertainty."
    )
    return text, [_PAPER]
