"""The sentences of the page: the answer, the checks, the methods paragraph.

They are plain text, which the template escapes; code stands between backticks. What was not computed is not
mentioned, so that every sentence is true of its page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from epluribus._text import count, span
from epluribus._version import __version__
from epluribus.diagnostics import RHAT_LIMIT
from epluribus.report.facts import Facts

_ESS = 400
"""Effective sample size that Vehtari et al. (2021) advise for stable diagnostics of four chains."""
_CERTAIN = 0.5
"""An item with a smaller support is apart from the others of its cluster more often than with them."""
_MAX_GAP = 0.5
"""A larger relative gap of the certificate says little: it is on the page, not in the methods paragraph."""
_ROUNDING = 1e-9
"""Relative difference of two expected losses that rounding can explain."""

_RASTELLI = (
    "Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models. "
    "Statistics and Computing 28, 1169-1186. https://doi.org/10.1007/s11222-017-9786-y"
)
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
    """Whether it speaks for the answer; otherwise it is a warning."""
    text: str
    """What was found and, for a warning, what to do."""


def number(value: float, digits: int = 4) -> str:
    """A number with this many significant digits, as the page writes it; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:.{digits}g}"  # noqa: RUF001 - the dash of an empty cell


def share(probability: float) -> str:
    """A probability with two digits, never rounded to 0 or 1.

    >>> share(0.5), share(0.001), share(0.999), share(1.0)
    ('0.50', 'below 0.01', 'above 0.99', '1.00')
    """
    # Below 0.005 two digits would be 0.00, from 0.995 on 1.00.
    if 0 < probability < 0.005:
        return "below 0.01"
    return "above 0.99" if 0.995 <= probability < 1 else f"{probability:.2f}"


def _interval(facts: Facts) -> str:
    """The interval of the number of clusters in the draws: '3', or 'between 3 and 5'."""
    low, high = facts.n_clusters.interval
    return f"{low}" if low == high else f"between {low} and {high}"


def degenerate(facts: Facts) -> str:
    """Why the draws say nothing about uncertainty; empty if they do.

    Three cases: one item, one draw, or draws that are all the same partition. Measures of uncertainty are
    then 0 or 1 whatever the data, and must not be presented as results.
    """
    draws = facts.draws
    if draws.n_items == 1:
        return "There is only one item: there is nothing to cluster."
    if draws.n_draws == 1:
        return "There is only one draw: it says nothing about how certain the partition is."
    # Distinct partitions of weight 0 have no probability: they are not variation.
    if int((draws.weights > 0).sum()) == 1:
        return "All draws are equal: did the sampler move?"
    return ""


def answer(facts: Facts) -> str:
    """The answer in a few sentences, with what a reader must know before trusting it."""
    best, sizes = facts.best, facts.best.sizes
    largest = f", the largest of {count(int(sizes.max()), 'item')}" if len(sizes) > 1 else ""
    items, has = count(best.labels.size, "item"), count(best.n_clusters, "cluster")
    problem = degenerate(facts)
    if problem:
        text = f"The partition of the {items} has {has}{largest}. {problem}"
        if facts.draws.n_items == 1:
            return text
        return f"{text} What follows about uncertainty describes these draws, which show none."
    # Where there are several modes, one partition is not the whole answer: the first sentence says so.
    several = ""
    if facts.modes is not None and facts.modes.chosen and facts.modes.n_modes > 1:
        several = (
            f", but the draws fall into {facts.modes.n_modes} groups and no single partition is a "
            "fair summary: see Modes"
        )
    # A search proves nothing about partitions it did not visit: hence "that were tried".
    tried = f"{facts.bound} that were tried" if facts.bound else "that were tried"
    text = (
        f"The best single partition of the {items} has {has}{largest}{several}. Of all partitions "
        f"{tried} it has the smallest expected posterior loss, "
        f"{best.loss.with_unit(number(best.expected_loss))} ({best.loss.name}). In the draws the "
        f"number of clusters is {_interval(facts)} with probability {share(facts.n_clusters.mass)}. "
    )
    if facts.left_out is not None:
        n = len(facts.left_out)
        text += f"{count(n, 'other item')} {'was' if n == 1 else 'were'} left undecided: see Undecided. "
    if facts.items is None:
        return text + "Much of the page is left out: see the notes under diagnostics."
    # The support of an item is the mean probability that it is with each other item of its cluster.
    uncertain = int((facts.items.support < _CERTAIN).sum())
    if not uncertain:
        return (
            f"{text}Every item shares a cluster with the others of its cluster with a mean probability "
            f"of at least {_CERTAIN:g}."
        )
    return (
        f"{text}{count(uncertain, 'item')} {'shares' if uncertain == 1 else 'share'} a cluster with the "
        f"others of the same cluster with a mean probability below {_CERTAIN:g}: look at them before "
        "reading much into their place."
    )


def k_sentence(facts: Facts) -> str:
    """What the bars of the number of clusters show, in a sentence or two."""
    k, chosen = facts.n_clusters, facts.best.n_clusters
    # All draws have the same number: there are no bars, and the sentence stands alone.
    if k.probability(k.mode) == 1:
        other = "" if chosen == k.mode else f"; the estimate has {chosen}"
        return f"Every draw has {count(k.mode, 'cluster')}{other}."
    return (
        f"Most probable: {k.mode} (probability {share(k.probability(k.mode))}); mean {k.mean:.2f}; "
        f"{span(*k.interval)} with probability {share(k.mass)}. The estimate has {chosen}, which has "
        f"probability {share(k.probability(chosen))}."
    )


def items_note(facts: Facts, at_most: int) -> str:
    """Which items the table shows, if it has room for `at_most`."""
    n = len(facts.best.labels)
    if facts.items is None:
        shown = f"The first {at_most:,} of {n:,} items" if n > at_most else count(n, "item")
        return f"{shown}; how certain they are was left out: see the notes under diagnostics."
    if n <= at_most:
        return f"All {count(n, 'item')}, the least certain first." if n > 1 else ""
    return (
        f"The {at_most:,} least certain of {n:,} items; the others are more certain. "
        "`best.write_labels('labels.csv', draws)` writes all of them."
    )


def checks(facts: Facts) -> list[Check]:
    """What speaks against the draws, the search and the summary, followed by what speaks for them."""
    problem = degenerate(facts)
    if problem:
        return [Check(False, problem)]
    # What the search and the summary are worth depends on the chains, so these come first. The sort is
    # stable: warnings move to the front and keep this order.
    found = [*_chain_checks(facts), *_search_checks(facts), *_summary_checks(facts)]
    return sorted(found, key=lambda check: check.fine)


def _chain_checks(facts: Facts) -> Iterator[Check]:
    """Whether the chains have mixed, are long enough, and agree on the partition."""
    error = facts.error
    if error is None:
        return
    if error.n_chains == 1:
        yield Check(
            False,
            "There is only one chain. One chain cannot show whether another would have found a "
            "different answer: run at least two, preferably four, from different starts.",
        )
    # Split R-hat compares halves of chains, and needs at least two draws in each.
    if math.isnan(error.rhat):
        yield Check(False, "There are too few draws in a chain to judge whether it has mixed.")
        return
    mixed = error.rhat <= RHAT_LIMIT
    verdict = (
        ": parts of the chains look alike."
        if mixed
        else f", above {RHAT_LIMIT}: parts of the chains differ. Run the sampler longer, leave out more at "
        "the beginning, or run more chains."
    )
    yield Check(mixed, f"R-hat of the loss is {error.rhat:.3f}{verdict}")
    # Consecutive draws resemble each other: a thousand of them may be worth ten independent ones.
    enough = error.ess >= _ESS
    advice = "" if enough else f", fewer than the {_ESS} often advised: run the sampler longer"
    yield Check(
        enough,
        f"The {count(error.n_draws, 'draw')} are worth about {error.ess:,.0f} independent ones for the "
        f"expected loss{advice}.",
    )
    if error.n_chains > 1:
        yield Check(error.agreement.agree is True, error.agreement.sentence)


def _search_checks(facts: Facts) -> Iterator[Check]:
    """Whether the search ended by itself, and whether another partition is known to be better."""
    best, table = facts.best, facts.comparison
    if not best.converged:
        yield Check(
            False, "The search was stopped early: a longer one may find a better partition."
        )
    # Column 0 has the expected losses under the reported loss. If a partition found for another loss is
    # better there, the search has missed it, or was not allowed to find it.
    if table is not None:
        winner = int(np.argmin(table.expected_losses[:, 0]))
        if table.expected_losses[winner, 0] < best.expected_loss * (1 - _ROUNDING):
            why = (
                f"Its search was not limited to partitions {facts.bound}."
                if facts.bound
                else "Search with more starts, and without a bound on the number of clusters."
            )
            yield Check(
                False,
                f"The estimate for {table.names[winner]} has a smaller expected {best.loss.name} loss "
                f"than the one reported. {why}",
            )
    if facts.certificate is not None and facts.certificate.proved:
        yield Check(True, "The estimate is proved optimal for these draws.")


def _summary_checks(facts: Facts) -> Iterator[Check]:
    """Whether one partition is a fair summary, and whether its number of clusters is a usual one."""
    # Silhouettes compare several numbers of modes; if there are none, nothing was compared.
    if facts.modes is not None and facts.modes.silhouettes:
        yield Check(facts.modes.n_modes == 1, facts.modes.sentence)
    k, chosen = facts.n_clusters, facts.best.n_clusters
    if not k.interval[0] <= chosen <= k.interval[1]:
        yield Check(
            False,
            f"The estimate has {count(chosen, 'cluster')}, outside the {100 * k.level:g} % interval "
            f"({span(*k.interval)}) of the draws. That is common where draws have small clusters that "
            "come and go: the two answer different questions.",
        )


def methods(facts: Facts) -> tuple[str, list[str]]:
    """A paragraph for the methods section of a paper, and its references in the order of their authors.

    It names the loss, the draws, the search and its bound, and every measure that the page shows, with the
    number found; each measure brings the reference that introduced it.
    """
    best, draws, error, ball = facts.best, facts.draws, facts.error, facts.ball
    items, has = count(draws.n_items, "item"), count(best.n_clusters, "cluster")
    # Error, ball and modes of draws that do not vary would be numbers without meaning.
    if degenerate(facts):
        return _methods_of_equal_draws(facts, items, has), [_RASTELLI]
    chains = "one chain" if draws.n_chains == 1 else f"{draws.n_chains} chains"
    # A user's own loss has no title.
    loss = best.loss.title or f"the loss '{best.loss.name}'"
    among = facts.bound or "with any number of clusters"
    # Partitions of few items are enumerated, without runs.
    runs = f" of {count(len(best.runs), 'run')}" if best.runs else ""
    early = "" if best.converged else ", which was stopped early"
    text = (
        f"The posterior distribution of the partition of the {items}, represented by "
        f"{count(draws.n_draws, 'draw')} from {chains}, was summarized by the partition that minimizes "
        f"the posterior expectation of {loss} over all partitions {among} (Rastelli & Friel 2018), "
        f"found by a search{runs} with epluribus {__version__}{early}. The estimate has {has}; its "
        f"expected loss is {best.loss.with_unit(number(best.expected_loss))}"
    )
    references = [_RASTELLI, *filter(None, [best.loss.reference])]
    if error is not None and not math.isnan(error.standard_error):
        text += (
            f", with a Monte Carlo standard error of {number(error.standard_error, 2)} (effective "
            f"sample size {error.ess:,.0f}, split R-hat {error.rhat:.3f}; Vehtari et al. 2021)"
        )
        references.append(_VEHTARI)
    text += ". "
    if facts.left_out is not None:
        n, cost = len(facts.left_out), best.loss.with_unit(f"{facts.left_out.cost:g}")
        text += (
            f"All of this is about these items: {count(n, 'other item')}, each of which would have added "
            f"more than {cost}, {'was' if n == 1 else 'were'} left undecided. "
        )
    # What was left out of the page is left out here too, with its reference.
    if ball is not None:
        text += (
            f"The {100 * ball.level:g} % credible ball around it (Wade & Ghahramani 2018) has a radius "
            f"of {ball.loss.with_unit(number(ball.radius))}. "
        )
        references.append(_WADE)
    text += (
        f"The number of clusters is {_interval(facts)} with posterior probability "
        f"{share(facts.n_clusters.mass)}."
    )
    # The verdict reads "within 3 %", of which the sentence needs the number.
    found = facts.certificate
    if found is not None and found.relative_gap <= _MAX_GAP:
        above = found.verdict.removeprefix("within ")
        text += (
            " The estimate was proved optimal for these draws."
            if found.proved
            else f" The expected loss is at most {above} above the smallest possible for these draws."
        )
    if facts.modes is not None and facts.modes.n_modes > 1:
        text += (
            f" The posterior was also summarized by {facts.modes.n_modes} partitions with weights "
            "(Balocchi & Wade 2025)."
        )
        references.append(_BALOCCHI)
    return text, sorted(references)  # by author


def _methods_of_equal_draws(facts: Facts, items: str, has: str) -> str:
    """The paragraph where the draws do not vary; `items` and `has` are the numbers of items and clusters."""
    n = facts.draws.n_draws
    what = "the only draw" if n == 1 else f"the partition that all {count(n, 'draw')} share"
    return (
        f"The estimate of the partition of the {items}, made with epluribus {__version__}, is "
        f"{what}, with {has}. The draws do not vary, so nothing can be said about its uncertainty."
    )
