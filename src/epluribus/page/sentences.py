"""The sentences of the page: the answer, the warnings and what the pictures show.

They are plain text, which the template escapes; code stands between backticks. What was not computed is not
mentioned, so that every sentence is true of its page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from epluribus._text import count, few_of, span
from epluribus.changes import EQUAL, what_differs

if TYPE_CHECKING:
    from epluribus.page.facts import Facts

_ESS = 400
"""Effective sample size that Vehtari et al. (2021) advise for stable diagnostics of four chains."""


def number(value: float, form: str = ".4g") -> str:
    """A number as the page writes it; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}"  # noqa: RUF001 - the dash of an empty cell


def share(probability: float) -> str:
    """A probability with two digits, never rounded to 0 or 1.

    >>> share(0.5), share(0.001), share(0.999), share(1.0)
    ('0.50', 'below 0.01', 'above 0.99', '1.00')
    """
    # Below 0.005 two digits would be 0.00, from 0.995 on 1.00.
    if 0 < probability < 0.005:
        return "below 0.01"
    return "above 0.99" if 0.995 <= probability < 1 else f"{probability:.2f}"


def sentence(text: str) -> str:
    """A line of a card as a sentence.

    >>> sentence("  radius 0.5 bits")
    'Radius 0.5 bits.'
    """
    text = text.strip()
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def degenerate(facts: Facts) -> str:
    """Why the draws say nothing about uncertainty; empty if they do.

    Three cases: one item, one draw, or draws that are all the same partition. Measures of uncertainty are
    then 0 or 1 whatever the data, and must not be presented as results.
    """
    draws = facts.draws
    if draws.n_items == 1:
        return "There is only one item: there is nothing to cluster."
    if draws.n_draws == 1:
        return facts.worded("There is only one draw: it says nothing about uncertainty.")
    # Distinct partitions of weight 0 have no probability: they are not variation.
    if int((draws.weights > 0).sum()) == 1:
        doubt = "" if facts.ensemble else ": did the sampler move?"
        return facts.worded(f"All draws are equal{doubt}.")
    return ""


def answer(facts: Facts) -> str:
    """The answer in a few sentences, with what a reader must know before trusting it."""
    best, sizes = facts.best, facts.best.sizes
    largest = f", the largest of {count(int(sizes.max()), 'item')}" if len(sizes) > 1 else ""
    items, has = count(best.labels.size, "item"), count(best.n_clusters, "cluster")
    problem = degenerate(facts)
    if problem:
        return f"The partition of the {items} has {has}{largest}. {problem}"
    # A search proves nothing about partitions it did not visit: hence "that were tried".
    tried = f"{facts.bound} that were tried" if facts.bound else "that were tried"
    within, mass = "the draws", f" with probability {share(facts.n_clusters.mass)}"
    if facts.n_clusters.mass == 1:
        within, mass = "all draws", ""
    parts = [
        facts.worded(
            f"The best single partition of the {items} has {has}{largest}. Of all partitions {tried} it has the "
            f"smallest expected loss, {best.loss.with_unit(number(best.expected_loss))} ({best.loss.name}). In "
            f"{within} the number of clusters is {span(*facts.n_clusters.interval)}{mass}."
        )
    ]
    if facts.disagree:
        why = "CHAINS DISAGREE" if facts.draws.n_chains > 1 else "CHAIN HAS NOT SETTLED"
        parts.insert(0, f"DO NOT REPORT THIS ANSWER: THE {why}.")
    if facts.left_out is not None:
        n = len(facts.left_out)
        parts.append(f"{count(n, 'other item')} {'was' if n == 1 else 'were'} left undecided.")
    if facts.items is None:
        parts.append("Much of the page is left out: see the notes under diagnostics.")
    parts.append(loose_clusters(facts))
    return " ".join(filter(None, parts))


def loose_clusters(facts: Facts) -> str:
    """The clusters that the draws do not support as groups, in a sentence; empty if there are none."""
    solid = facts.clusters
    if solid is None:
        return ""
    loose = np.flatnonzero((solid.cohesion < 0.5) & (solid.sizes > 1)).tolist()
    which = few_of([f"{c} ({count(int(solid.sizes[c]), 'item')})" for c in loose], 8)
    if len(loose) == 1:
        return f"Cluster {which} is not one group: two of its items are more often apart than together."
    if loose:
        return f"Two items of one cluster are more often apart than together in clusters {which}."
    return ""


def items_sentence(facts: Facts, at_most: int) -> str:
    """Which items the table shows, if it has room for `at_most`."""
    n = len(facts.best.labels)
    which = "first" if facts.items is None else "least certain"
    text = "How certain items are was left out. " if facts.items is None else ""
    if n > at_most:
        text += f"The {at_most:,} {which} of {n:,} items. "
        text += "`best.write_labels('labels.csv', draws)` writes all of them."
    return text or "The least certain items come first."


def other_sentences(facts: Facts) -> list[str]:
    """How the partitions that were given differ from the estimate."""
    names = () if facts.plausibility is None else facts.plausibility.names
    told = [
        what_differs(facts.best.labels, one, names=facts.draws.items, other=name)
        for name, one in zip(names, facts.others, strict=False)
    ]
    return [sentence(text) for text in told if text != EQUAL]


def warnings(facts: Facts) -> list[str]:
    """What speaks against the draws, the search and the summary, beside the lines of `health`."""
    problem = degenerate(facts)
    return [problem] if problem else [*_about_draws(facts), *_about_search(facts)]


def _about_draws(facts: Facts) -> Iterator[str]:
    """Whether the draws are enough, and the estimate has a usual number of clusters."""
    error, k, chosen = facts.error, facts.n_clusters, facts.best.n_clusters
    # Consecutive draws resemble each other: a thousand of them may be worth ten independent ones.
    if error is not None and not facts.ensemble and error.ess < _ESS:
        yield (
            f"For the expected loss the draws are worth about {error.ess:,.0f} independent ones, fewer than the "
            f"{_ESS} often advised: run the sampler longer."
        )
    if not k.interval[0] <= chosen <= k.interval[1]:
        yield (
            f"The estimate has {count(chosen, 'cluster')}, outside the {100 * k.level:g} % interval "
            f"({span(*k.interval)}) of the {facts.worded('draws')}. Which partition is best and how many "
            "clusters are likely are two questions."
        )


def _about_search(facts: Facts) -> Iterator[str]:
    """Whether the search ended by itself, and whether another partition is known to be better."""
    best, table = facts.best, facts.comparison
    if not best.converged:
        yield "The search was stopped early: a longer one may find a better partition."
    # Column 0 has the expected losses under the reported loss. If a partition found for another loss is
    # better there, by more than rounding, the search has missed it, or was not allowed to find it.
    if table is not None:
        winner = int(np.argmin(table.expected_losses[:, 0]))
        if table.expected_losses[winner, 0] < best.expected_loss * (1 - 1e-9):
            why = f"Its search was not limited to partitions {facts.bound}."
            yield (
                f"The estimate for {table.names[winner]} has a smaller {facts.worded('expected loss')} "
                f"({best.loss.name}) than the one reported. {why if facts.bound else 'Search with more starts.'}"
            )
