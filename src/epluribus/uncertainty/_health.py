"""Whether an answer can be trusted, in at most three short lines: chains, items, modes.

The lines of `best.health(draws)`, of the command `summarize` and of the report come from here. Each rests on a rule
that stands elsewhere: the chains on `diagnostics.chain_agreement`, the items on their support, the modes on
`_draw_modes.py`. What would take long is not begun, and the line says "not checked"; that depends on the size of
the sample, not on the clock.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from epluribus._cards import Card, Facts, Shown
from epluribus._parallel import resolve_jobs
from epluribus._typing import DrawsLike
from epluribus.diagnostics import Agreement, chain_agreement
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.partition import check_estimate
from epluribus.uncertainty._draw_modes import find_groups, nothing_varies
from epluribus.uncertainty._error import warn_of_weights
from epluribus.uncertainty._items import ItemTable, items
from epluribus.uncertainty._modes import Modes

_WORK = 1e9
"""Comparisons of labels between chains, and labels times clusters for the support of items, at most: about a second."""
_CERTAIN, _RIVAL = 0.5, 2 / 3
"""An item with a smaller support is apart from the others of its cluster more often than with them; and it is doubtful
if its runner-up has more than this share of its support, which are odds of less than 3 to 2."""


@dataclass(frozen=True, repr=False)
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
        found = {True: "no problems found", False: "problems found", None: "incomplete"}[self.fine]
        return Card("", self.facts, heading=f"Health: {found}", indent="")

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


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
        What is known already, from `error`, `items` and `modes`; the rest is computed.
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
    check_estimate(best)
    if len(best.undecided):  # what can be trusted is asked of the others
        best, draws = best.decided(draws)
    labels, sample, loss = read_best(best, draws, None)
    ensemble = sample.kind == "ensemble"
    noun = "clustering" if ensemble else "draw"
    if int((sample.weights > 0).sum()) == 1:
        return Health(nothing_varies(sample.n_draws, noun), "", "", None)
    chains: tuple[str, bool | None] = ("", True)
    if not ensemble:
        if agreement is None:
            series = {"loss": draw_losses(labels, sample, loss)[sample.index]}
            agreement = chain_agreement(sample, n_jobs, series=series, comparisons=_WORK)
        chains = _chains(agreement, sample)
    if table is None and sample.n_items * sample.n_distinct * (best.n_clusters + 1) <= _WORK:
        table = items(best, sample, n_jobs=resolve_jobs(n_jobs))
    supported = ("not checked: see epl.uncertainty.items", None) if table is None else _items(table)
    groups = find_groups(sample) if modes is None or modes.groups is None else modes.groups
    if groups.early.any() and chains[1]:
        chains = f"{chains[0]}, but begin with burn-in", False
    weak = None if table is None else float((table.support < _CERTAIN).mean())
    grouped = groups.verdict(weak)
    verdicts = [chains[1], supported[1], grouped[1]]
    fine = False if False in verdicts else None if None in verdicts else True
    return Health(chains[0], supported[0], grouped[0], fine)


def _chains(found: Agreement, draws: Draws) -> tuple[str, bool | None]:
    """The line on chains, and whether it speaks for the answer."""
    end = "do not report this answer; see epl.error"
    if found.agree is False and found.n_chains == 1:
        return f"THE CHAIN HAS NOT SETTLED: {end}", False
    if found.agree is False:
        who = "" if found.odd is None else f" (chain {found.odd} is off)"
        return f"THEY DISAGREE{who}: {end}", False
    weights = warn_of_weights(draws)
    if weights:
        return weights[0].lower() + weights[1:].rstrip("."), False
    if draws.has_missing:
        return "not compared: labels are missing", None
    if found.n_chains == 1:
        return "one chain: whether another would agree is not known", None
    if found.agree is None:
        return "too short to say whether they agree", None
    largest = max([1.0, *(one.rhat for one in found.series if one.rhat == one.rhat)])
    return f"the {found.n_chains} chains agree (R-hat at most {largest:.3f})", True


def _items(table: ItemTable) -> tuple[str, bool | None]:
    """The line on items."""
    low, n = table.support < _CERTAIN, len(table.support)
    unknown = table.support != table.support  # NaN: never seen with most of their cluster
    rival = table.runner_up_support > _RIVAL * table.support
    doubtful = low | unknown | rival
    if not doubtful.any():
        return f"none doubtful (lowest support {table.support.min():.2f})", True
    why = {f"a support below {_CERTAIN:g}": low}
    why |= {"another likely place": rival & ~low, "an unknown place": unknown}
    told = ", ".join(f"{int(x.sum()):,} with {name}" for name, x in why.items() if x.any())
    return (
        f"{int(doubtful.sum()):,} of {n:,} doubtful ({told})",
        None if unknown.any() else bool(doubtful.mean() < _CERTAIN),
    )
