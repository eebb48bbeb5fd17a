"""Whether an answer can be trusted, in at most three short lines: chains, items, modes.

The lines beside every answer come from here: those of `print(best)`, of the command `summarize`, of notebooks
and of the report. Each rests on a rule that stands elsewhere: the chains on `diagnostics.chain_agreement`,
the items on their support, the modes on `_mode_rule.py`.

Beside a search the checks may take 20 % of its time, or a tenth of a second if that is more. What would take
longer is not begun, and the line says "not checked"; of many items only some are compared between chains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from epluribus._cards import Card, Facts, Shown
from epluribus._parallel import resolve_jobs
from epluribus._text import percent, sentence_list
from epluribus._typing import DrawsLike
from epluribus.diagnostics import Agreement, chain_agreement
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.partition import check_estimate
from epluribus.uncertainty._error import warn_of_weights
from epluribus.uncertainty._items import ItemTable, items
from epluribus.uncertainty._medoids import quick_look
from epluribus.uncertainty._modes import Modes

_SHARE = 0.2
"""Share of the time of the search that the checks may take ..."""
_SECONDS = 0.1
"""... but at least this many seconds."""
_COMPARED = 5e9
"""Comparisons of labels between chains per second."""
_SUPPORTED = 5e8
"""Labels times clusters per second, for the support of items."""
_LOOKED_AT = 2e8
"""Labels per second, for a quick look at groups of draws."""
_CERTAIN = 0.5
"""An item with a smaller support is apart from the others of its cluster more often than with them."""


@dataclass(frozen=True)
class Health(Shown):
    """What speaks for and against an answer."""

    chains: str
    """Whether chains agree; empty for an ensemble, which has no chains."""
    items: str
    """How many items are doubtful."""
    modes: str
    """Whether one partition is a fair summary."""
    fine: bool | None
    """True if nothing speaks against the answer, False if something does; None if something was not checked,
    or cannot be known, and nothing speaks against it."""

    @property
    def facts(self) -> Facts:
        """At most three texts by name, without full stops."""
        named = {"chains": self.chains, "items": self.items, "modes": self.modes}
        return Facts(named, alert=self.fine is False)

    @property
    def lines(self) -> list[str]:
        """The same as lines of text."""
        return self.facts.lines()

    def _card(self) -> Card:
        verdict = {
            True: "nothing speaks against it",
            False: "read this first",
            None: "not all is known",
        }
        return Card("", self.facts, heading=f"Health: {verdict[self.fine]}", indent="")

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "fine": self.fine,
            "chains": self.chains,
            "items": self.items,
            "modes": self.modes,
        }


def health(
    best: Estimate,
    draws: DrawsLike | None = None,
    *,
    agreement: Agreement | None = None,
    table: ItemTable | None = None,
    modes: Modes | None = None,
    n_jobs: int | None = None,
) -> Health:
    """Whether an answer can be trusted, in at most three lines.

    Parameters
    ----------
    best : Estimate
        The answer.
    draws : Draws or array_like of shape (n_draws, n_items), optional
        The draws behind it. Without them nothing is checked.
    agreement, table, modes : optional
        What is known already, from `error`, `items` and `modes`; the rest is computed, in at most a fifth of
        the time of the search.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    Health

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> z = np.random.default_rng(1).integers(2, size=(2, 100, 15))
    >>> z[0] = np.arange(15) // 5
    >>> z[1] = np.arange(15) % 3  # another partition in each chain
    >>> found = epl.uncertainty.health(epl.minimize(z, rng=1), z)
    >>> found.fine, found.chains[:12]
    (False, 'THEY DISAGRE')
    """
    if draws is None:
        return Health("not checked", "not checked", "not checked", None)
    sample = as_draws(draws)
    check_estimate(best)
    if len(best.undecided):  # what can be trusted is asked of the others
        best, sample = best.decided(sample)
    labels, sample, loss = read_best(best, sample, None)
    if int((sample.weights > 0).sum()) == 1:
        noun = _noun(sample)
        what = f"only one {noun}" if sample.n_draws == 1 else f"all {noun}s are equal"
        return Health(f"{what}: nothing is known about uncertainty", "", "", None)
    seconds = max(_SECONDS, _SHARE * best.seconds)
    ensemble = sample.kind == "ensemble"
    lines: list[tuple[str, bool | None]] = [("", True)]
    if not ensemble:
        if agreement is None:
            values = draw_losses(labels, sample, loss)[sample.index]
            budget = seconds * _COMPARED
            agreement = chain_agreement(sample, n_jobs, series={"loss": values}, comparisons=budget)
        lines = [_chains(agreement, sample)]
    size = sample.n_items * sample.n_distinct
    if table is None and size * (best.n_clusters + 1) <= seconds * _SUPPORTED:
        table = items(best, sample, n_jobs=resolve_jobs(n_jobs))
    lines.append(_items(table, _noun(sample)))
    if modes is not None:
        lines.append(_modes(modes))
    elif sample.store.in_one_piece and size <= 10 * seconds * _LOOKED_AT:
        groups, diffuse = quick_look(sample, loss, labels)
        lines.append(_quick(groups, diffuse, _noun(sample)))
    else:
        lines.append(("not checked: see epl.modes", None))
    verdicts = [fine for _, fine in lines]
    fine = False if False in verdicts else None if None in verdicts else True
    chains, supported, grouped = (text for text, _ in lines)
    return Health(chains, supported, grouped, fine)


def _chains(found: Agreement, draws: Draws) -> tuple[str, bool | None]:
    """The line on chains, and whether it speaks for the answer."""
    weights = warn_of_weights(draws)
    if found.agree is False:
        if found.n_chains == 1:
            return (
                "THE CHAIN HAS NOT SETTLED: do not report this answer; see epl.uncertainty.error",
                False,
            )
        far, near = found.apart
        who = "" if found.odd is None else f"chain {found.odd} is off, "
        return (
            f"THEY DISAGREE ({who}{far:.2g} bits between chains, {near:.2g} within): do not report this "
            "answer; see epl.uncertainty.error",
            False,
        )
    if weights:
        return weights[0].lower() + weights[1:].rstrip("."), False
    if draws.has_missing:
        return "not compared: labels are missing", None
    if found.n_chains == 1:
        return "one chain: whether another would agree is not known", None
    if found.agree is None:
        return "too short to say whether they agree", None
    largest = max((one.rhat for one in found.series if one.rhat == one.rhat), default=float("nan"))
    return f"the {found.n_chains} chains agree (R-hat at most {largest:.3f})", True


def _noun(draws: Draws) -> str:
    """What one of the partitions is called."""
    return "clustering" if draws.kind == "ensemble" else "draw"


def _items(table: ItemTable | None, noun: str) -> tuple[str, bool | None]:
    """The line on items."""
    if table is None:
        return "not checked: see epl.uncertainty.items", None
    low, n = table.support < _CERTAIN, len(table.support)
    unknown = table.support != table.support  # NaN: never seen with most of their cluster
    other = "likelier or unknown" if unknown.any() else "likelier"
    doubtful = low | unknown | (table.runner_up_probability > table.support)
    if not doubtful.any():
        return f"all of them share a cluster with the others of theirs in most {noun}s", True
    return (
        f"{int(doubtful.sum()):,} of {n:,} doubtful ({int(low.sum()):,} with a support below "
        f"{_CERTAIN:g}, {int((doubtful & ~low).sum()):,} more with a {other} place)",
        None if unknown.any() else bool(doubtful.mean() < _CERTAIN),
    )


def _modes(found: Modes) -> tuple[str, bool | None]:
    """The line on modes, where they were searched for."""
    if found.n_modes > 1:
        shares = sentence_list([percent(weight) for weight in found.weights])
        doubt = "" if found.trusted else ", but the weights are not to be trusted"
        return f"{found.n_modes} competing partitions, {shares}{doubt}", False
    if found.diffuse:
        noun = "clustering" if found.ensemble else "draw"
        return f"no partition is a fair summary: the {noun}s are diffuse", False
    return ("one partition is a fair summary", True) if found.fair else ("not checked", None)


def _quick(groups: int, diffuse: bool, noun: str) -> tuple[str, bool | None]:
    """The line on modes after a quick look."""
    if groups > 1:
        return f"the {noun}s fall into {groups} groups or more: see epl.modes", False
    if diffuse:
        return f"no partition is a fair summary: the {noun}s are diffuse", False
    return f"no second group of {noun}s in a quick look", True
