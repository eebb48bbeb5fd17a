"""The sentences of the page: the answer and the checks; `methods` has the paragraph for a paper.

They are plain text, which the template escapes; code stands between backticks. What was not computed is not
mentioned, so that every sentence is true of its page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from epluribus import uncertainty
from epluribus._text import count, span
from epluribus.report.facts import Facts

_ESS = 400
"""Effective sample size that Vehtari et al. (2021) advise for stable diagnostics of four chains."""
_CERTAIN = 0.5
"""An item with a smaller support is apart from the others of its cluster more often than with them."""
_ROUNDING = 1e-9
"""Relative difference of two expected losses that rounding can explain."""


class Terms(NamedTuple):
    """How the page speaks of a posterior sample, or of an ensemble, which has no probabilities."""

    draw: str
    """One of the partitions."""
    probability: str
    """How often something is the case, as a number."""
    mean: str
    """The mean of the loss over the partitions."""
    loss: str
    """The same in a word or two."""


_POSTERIOR = Terms("draw", "probability", "expected posterior loss", "expected loss")
_ENSEMBLE = Terms(
    "clustering", "share of the clusterings", "mean loss to the clusterings", "mean loss"
)


def terms(facts: Facts) -> Terms:
    """The words for this sample."""
    return _ENSEMBLE if is_ensemble(facts) else _POSTERIOR


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


def interval(facts: Facts) -> str:
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
        return f"There is only one {terms(facts).draw}: it says nothing about how certain the partition is."
    # Distinct partitions of weight 0 have no probability: they are not variation.
    if int((draws.weights > 0).sum()) == 1:
        return (
            "All clusterings are equal."
            if is_ensemble(facts)
            else "All draws are equal: did the sampler move?"
        )
    return ""


def is_ensemble(facts: Facts) -> bool:
    """Whether the draws are an ensemble of clusterings, not a posterior sample."""
    return facts.draws.kind == "ensemble"


def disagree(facts: Facts) -> bool:
    """Whether the chains disagree, so that nothing on the page may be published."""
    return facts.error is not None and facts.error.agreement.agree is False


def health_lines(facts: Facts) -> list[str]:
    """The lines on chains, items and modes that stand beside every answer."""
    if degenerate(facts) or facts.items is None or facts.error is None:
        return []
    found = uncertainty.health(
        facts.best,
        facts.draws,
        agreement=facts.error.agreement,
        table=facts.items,
        modes=facts.modes,
    )
    return found.lines


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
        return f"{text} What follows about uncertainty describes these {terms(facts).draw}s, which show none."
    # Where one partition is not the whole answer, the first sentence says so.
    several = ""
    if facts.modes is not None and facts.modes.fair is False:
        several = f", but {facts.modes.headline}: see Modes"
    # A search proves nothing about partitions it did not visit: hence "that were tried".
    tried = f"{facts.bound} that were tried" if facts.bound else "that were tried"
    chance = "for a share of" if is_ensemble(facts) else "with probability"
    in_all = f"{interval(facts)} {chance} {share(facts.n_clusters.mass)}"
    why = "THE CHAINS DISAGREE" if facts.draws.n_chains > 1 else "THE CHAIN HAS NOT SETTLED"
    stop = f"DO NOT REPORT THIS ANSWER: {why}. " if disagree(facts) else ""
    text = (
        f"{stop}The best single partition of the {items} has {has}{largest}{several}. Of all partitions "
        f"{tried} it has the smallest {terms(facts).mean}, "
        f"{best.loss.with_unit(number(best.expected_loss))} ({best.loss.name}). In the "
        f"{terms(facts).draw}s the number of clusters is {in_all}. "
    )
    if facts.left_out is not None:
        n = len(facts.left_out)
        text += f"{count(n, 'other item')} {'was' if n == 1 else 'were'} left undecided: see Undecided. "
    if facts.items is None:
        return text + "Much of the page is left out: see the notes under diagnostics."
    # The support of an item is the mean probability that it is with each other item of its cluster.
    uncertain = int((facts.items.support < _CERTAIN).sum())
    if not uncertain:
        often = _often(facts, "at least")
        return f"{text}Every item shares a cluster with the others of its cluster {often}."
    return (
        f"{text}{count(uncertain, 'item')} {'shares' if uncertain == 1 else 'share'} a cluster with the "
        f"others of the same cluster {_often(facts, 'below')}: look at them before "
        "reading much into their place."
    )


def _often(facts: Facts, than: str) -> str:
    """How often an item is with the others of its cluster: "with a mean probability below 0.5"."""
    if is_ensemble(facts):
        return f"in a mean share of the clusterings {'of ' if than == 'at least' else ''}{than} {_CERTAIN:g}"
    return f"with a mean probability {'of ' if than == 'at least' else ''}{than} {_CERTAIN:g}"


def what_to_do(facts: Facts) -> list[str]:
    """Steps to take where chains disagree, the cheapest first; empty where they do not."""
    if not disagree(facts) or facts.error is None:
        return []
    found, n = facts.error.agreement, facts.draws.n_draws // facts.draws.n_chains
    steps = [
        "Look at the lines below. Where they have a trend at the beginning, leave out more draws there, such "
        f"as `draws.burn({max(n // 4, 1)})`, and search again."
    ]
    if found.odd is not None:
        steps.append(
            f"Chain {found.odd} is alone with its answer. Run it again from another start; if it "
            "agrees then, it had not arrived."
        )
    steps += [
        "Run the chains several times as long, or with a sampler that makes larger moves. If you sample with "
        "`epl.sample`, `epl.sample(model, start=trace)` continues all chains from the best one.",
    ]
    if found.n_chains > 1:
        steps.append(
            "If the chains keep to different partitions however long they run, the posterior may have "
            "several modes between which the sampler does not move. Then report the answers below as "
            "alternatives, without weights: how many chains found each says nothing of its probability."
        )
    return steps


def k_sentence(facts: Facts) -> str:
    """What the bars of the number of clusters show, in a sentence or two."""
    k, chosen = facts.n_clusters, facts.best.n_clusters
    # All draws have the same number: there are no bars, and the sentence stands alone.
    if k.probability(k.mode) == 1:
        other = "" if chosen == k.mode else f"; the estimate has {chosen}"
        return f"Every {terms(facts).draw} has {count(k.mode, 'cluster')}{other}."
    if is_ensemble(facts):
        return (
            f"Most frequent: {k.mode} (a share of {share(k.probability(k.mode))}); mean {k.mean:.2f}; "
            f"{span(*k.interval)} in a share of {share(k.mass)}. The estimate has {chosen}, as has a "
            f"share of {share(k.probability(chosen))} of the clusterings."
        )
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
    """Whether the chains agree, by the one rule, and are long enough; an ensemble has no chains."""
    error = facts.error
    if error is None or is_ensemble(facts):
        return
    found = error.agreement
    if found.agree is False:
        yield Check(False, f"{found.sentence} {found.advice}")
    elif error.n_chains == 1:
        yield Check(
            False,
            "There is only one chain. One chain cannot show whether another would have found a "
            "different answer: run at least two, preferably four, from different starts.",
        )
    else:
        yield Check(found.agree is True, found.sentence)
    # Split R-hat compares halves of chains, and needs at least two draws in each.
    if math.isnan(error.rhat):
        yield Check(False, "There are too few draws in a chain to judge whether it has mixed.")
        return
    if found.agree is not False:
        yield Check(
            True,
            f"R-hat of the loss is {error.rhat:.3f}: no more than chance explains.",
        )
    if error.few_carry:
        yield Check(False, error.few_carry)
    # Consecutive draws resemble each other: a thousand of them may be worth ten independent ones.
    enough = error.ess >= _ESS
    advice = "" if enough else f", fewer than the {_ESS} often advised: run the sampler longer"
    yield Check(
        enough,
        f"The {count(error.n_draws, 'draw')} are worth about {error.ess:,.0f} independent ones for the "
        f"expected loss{advice}.",
    )


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
                f"The estimate for {table.names[winner]} has a smaller {terms(facts).loss} "
                f"({best.loss.name}) than the one reported. {why}",
            )
    if facts.certificate is not None and facts.certificate.proved:
        yield Check(True, f"The estimate is proved optimal for these {terms(facts).draw}s.")
    elif facts.certificate is not None and facts.certificate.cut:
        yield Check(
            False, "The time limit ended the lower bound early: a longer run may come closer."
        )


def _summary_checks(facts: Facts) -> Iterator[Check]:
    """Whether one partition is a fair summary, and whether its number of clusters is a usual one."""
    # None: nothing was tested.
    if facts.modes is not None and facts.modes.fair is not None:
        yield Check(facts.modes.fair, facts.modes.sentence)
    k, chosen = facts.n_clusters, facts.best.n_clusters
    if not k.interval[0] <= chosen <= k.interval[1]:
        yield Check(
            False,
            f"The estimate has {count(chosen, 'cluster')}, outside the {100 * k.level:g} % interval "
            f"({span(*k.interval)}) of the {terms(facts).draw}s. That is common where they have small "
            "clusters that come and go: the two answer different questions.",
        )
