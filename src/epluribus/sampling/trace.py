"""The result of a sampling run: draws, log posterior, acceptance rates, the best partition, diagnostics."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._cards import Alert, Card, Facts, Part, Shown, Table
from epluribus._files import write_arrays
from epluribus._text import count
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import need
from epluribus.diagnostics import Agreement, chain_agreement
from epluribus.draws import Draws


@dataclass(frozen=True)
class Diagnostics(Shown):
    """How far the chains of a run can be trusted."""

    agreement: Agreement
    """Whether chains agree on which items belong together, with the series that were judged."""
    problems: tuple[str, ...] = field(default=())
    """What is wrong and what to do about it, one entry per problem; empty if nothing is."""

    @property
    def rhat(self) -> dict[str, float]:
        """Rank-normalized split R-hat of each series judged; NaN with fewer than 4 draws per chain."""
        return {one.name: one.rhat for one in self.agreement.series}

    @property
    def ess(self) -> dict[str, float]:
        """Effective number of independent draws of the same series (bulk), all chains together."""
        return {one.name: one.ess_bulk for one in self.agreement.series}

    @property
    def ess_tail(self) -> dict[str, float]:
        """The same for the tails of these series: the 5% and the 95% quantile."""
        return {one.name: one.ess_tail for one in self.agreement.series}

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    @property
    def parts(self) -> list[Part]:
        """What a card says about the chains: the series that were judged, the verdict, the problems."""
        shown = [
            one
            for one in self.agreement.series
            if one.differs or not math.isnan(one.ess_bulk) or math.isnan(one.rhat)
        ]
        table = {
            "series": [one.name for one in shown],
            "R-hat": [f"{one.rhat:.3f}" for one in shown],
            "ESS bulk": [f"{one.ess_bulk:,.0f}" for one in shown],
            "ESS tail": [f"{one.ess_tail:,.0f}" for one in shown],
        }
        # A disagreement is already among the problems.
        verdict = "" if self.agreement.agree is False else self.agreement.sentence
        return [Table(table), verdict, *(Alert(f"! {problem}") for problem in self.problems)]

    def _card(self) -> Card:
        return Card("", *self.parts, heading="Chains")


@dataclass(frozen=True, repr=False)
class Trace(Shown):
    """The result of `sample`.

    Every array of shape (n_chains, n_draws) is in the order of the draws. `draws` can be given to every
    function of the package that takes draws.

    Examples
    --------
    >>> from epluribus.models import GaussianMixture
    >>> from epluribus.sampling import sample
    >>> trace = sample(GaussianMixture([0.1, -0.2, 5.0, 5.3]), n_draws=100, rng=1)
    >>> trace.n_clusters.shape
    (2, 100)
    >>> trace.draws.n_draws, trace.draws.n_chains
    (200, 2)
    """

    draws: Draws
    """The draws, chains kept apart. For a model of rows and columns: the rows."""
    log_posterior: FloatArray
    """(n_chains, n_draws) log prior plus log marginal likelihood: the log posterior up to a
    constant."""
    n_clusters: IntArray
    """(n_chains, n_draws) number of clusters; empty components of a mixture are not counted."""
    acceptance: dict[str, float]
    """Share of proposals accepted, by kind of move, burn-in included; for Gibbs the share of updates that
    moved the item."""
    map_labels: IntArray
    """The partition of highest posterior at any step of any chain: the paper's MAP."""
    map_log_posterior: float
    """The log posterior of `map_labels`, up to the same constant as `log_posterior`."""
    settings: dict[str, Any]
    """What was run: model, what its prior says about the number of clusters, n_draws asked for, burn,
    thin, n_chains, where the chains began (`start`), seconds, steps of all chains, and a remark of the model on
    the best partition, such as on heavy tails."""
    column_draws: Draws | None = None
    """The draws of the columns, for a model of rows and columns."""
    column_n_clusters: IntArray | None = None
    """(n_chains, n_draws) number of clusters of the columns."""
    column_map_labels: IntArray | None = None
    """Labels of the columns in the partition of highest posterior."""
    interrupted: bool = False
    """Whether the run was stopped before it had all draws asked for."""

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return int(self.log_posterior.shape[0])

    @property
    def n_draws(self) -> int:
        """Number of draws of each chain."""
        return int(self.log_posterior.shape[1])

    def diagnostics(self, *, warn: bool = True) -> Diagnostics:
        """R-hat, effective sample sizes and agreement between chains.

        Parameters
        ----------
        warn : bool, default True
            Whether to warn, in plain words, when the chains cannot be trusted.

        Returns
        -------
        Diagnostics
            Whether the chains agree, by the rule of `diagnostics.chain_agreement`, with R-hat and effective
            sample sizes of the log posterior, of the number of clusters, and of the distance from a
            central draw.
        """
        # Labels mean nothing across draws: what is watched must not depend on them.
        series: dict[str, AnyArray] = {"log posterior": self.log_posterior.ravel()}
        if self.column_n_clusters is not None:
            series["number of column clusters"] = self.column_n_clusters.ravel()
        agreement = chain_agreement(self.draws, series=series)
        # Chains that disagree have few effective draws in any case: that is one problem, not two. Which of
        # them is off is said with its log posterior, which the agreement does not know.
        problems = _too_few(agreement)
        if agreement.agree is False:
            apart = describe_apart(self.log_posterior) or (agreement.advice,)
            problems = (agreement.sentence, *apart)
        if warn and problems:
            warnings.warn(" ".join(problems), stacklevel=2)
        return Diagnostics(agreement, problems)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: settings, clusters, rates and diagnostics, but no draws."""
        report = self.diagnostics(warn=False)
        # Posterior of the number of clusters.
        p = np.bincount(self.n_clusters.ravel()) / self.n_clusters.size
        return {
            **self.settings,
            "n_chains": self.n_chains,
            "n_draws": self.n_draws,
            "n_items": self.draws.n_items,
            "n_clusters": {str(k): float(p[k]) for k in np.flatnonzero(p)},
            "acceptance": self.acceptance,
            "map_log_posterior": self.map_log_posterior,
            "rhat": {name: _number(value) for name, value in report.rhat.items()},
            "ess": {name: _number(value) for name, value in report.ess.items()},
            "ess_tail": {name: _number(value) for name, value in report.ess_tail.items()},
            "chains_agree": report.agreement.agree,
            "problems": list(report.problems),
            "interrupted": self.interrupted,
        }

    def to_xarray(self) -> Any:
        """An xarray Dataset with dimensions chain, draw and item; ArviZ reads it as a posterior.

        Returns
        -------
        xarray.Dataset
            Variables `labels`, `log_posterior` and `n_clusters`; for rows and columns also
            `column_labels` and `column_n_clusters`.
        """
        xarray = need("xarray", "arviz", "A labeled array")
        data: dict[str, Any] = {"log_posterior": (("chain", "draw"), self.log_posterior)}
        counts = (self.n_clusters, self.column_n_clusters)
        for (name, draws, _), item, K in zip(self._sides, ("item", "column"), counts, strict=False):
            data[f"{name}labels"] = (("chain", "draw", item), self._by_chain(draws))
            data[f"{name}n_clusters"] = (("chain", "draw"), K)
        # As JSON: attributes of a netCDF file cannot be mappings.
        return xarray.Dataset(data, attrs={"acceptance": json.dumps(self.acceptance)})

    def save(self, path: str | Path) -> None:
        """Write an npz file, whole or not at all.

        It holds `labels` (n_chains, n_draws, n_items), `log_posterior`, `n_clusters`, `map_labels`,
        `items` where they have names, and for rows and columns `column_labels`, `column_map_labels` and
        `column_items`.

        Parameters
        ----------
        path : str or Path
        """
        arrays: dict[str, Any] = {
            "log_posterior": self.log_posterior,
            "n_clusters": self.n_clusters,
            "origin": np.array(self.draws.origin),
        }
        for name, draws, best in self._sides:
            arrays |= {f"{name}labels": self._by_chain(draws), f"{name}map_labels": best}
            if draws.items is not None:
                arrays[f"{name}items"] = np.array(draws.items)
        write_arrays(Path(path), arrays, compress=True)

    @property
    def _sides(self) -> list[tuple[str, Draws, Any]]:
        """Prefix of names, draws and best partition of the items, and of the columns if there are any."""
        sides: list[tuple[str, Draws, Any]] = [("", self.draws, self.map_labels)]
        if self.column_draws is not None:
            sides.append(("column_", self.column_draws, self.column_map_labels))
        return sides

    def _by_chain(self, draws: Draws) -> AnyArray:
        # (n_chains, n_draws, n_items): the chains lie end to end.
        return np.asarray(draws).reshape(self.n_chains, self.n_draws, draws.n_items)

    def __repr__(self) -> str:
        return (
            f"Trace(n_chains={self.n_chains}, n_draws={self.n_draws}, n_items={self.draws.n_items}"
            f"{', interrupted' if self.interrupted else ''})"
        )

    def _card(self) -> Card:
        settings, report = self.settings, self.diagnostics(warn=False)
        ended = ", interrupted" if self.interrupted else ""
        title = (
            f"{self.n_chains} chains of {self.n_draws:,} draws, {settings['thin']:,} steps apart "
            f"after a burn-in of {settings['burn']:,}{ended}"
        )
        columns = self.column_n_clusters
        rates = [f"{name} {100 * rate:.2g}%" for name, rate in self.acceptance.items()]
        K = count(int(self.map_labels.max()) + 1, "cluster")
        facts = {
            # Not the usual starts, which have one word.
            "started": settings["start"] if " " in settings.get("start", "") else "",
            "extended": _extended(settings.get("extensions", 0), report),
            "clusters": _distribution(self.n_clusters),
            "of columns": "" if columns is None else _distribution(columns),
            "accepted": ", ".join(rates),
            "best seen": f"log posterior {self.map_log_posterior:.3f}, {K}",
        }
        prior, remark = settings["prior"], settings.get("remark", "")
        return Card(title, settings["model"], *prior, Facts(facts), remark, *report.parts)


def _extended(times: int, report: Diagnostics) -> str:
    """How often a run of default length was extended, and why no more."""
    if times == 0:
        return ""
    enough = "the chains agreed" if report.agreement.agree else "the limit was reached"
    return f"{count(times, 'time')}, until {enough}"


def _number(value: float) -> float | None:
    """The number, or None for NaN and infinity, which JSON does not have."""
    return float(value) if np.isfinite(value) else None


def _distribution(n_clusters: IntArray) -> str:
    """The likeliest numbers of clusters, with their probabilities."""
    p = np.bincount(n_clusters.ravel()) / n_clusters.size
    # The five likeliest, in order of k.
    likely = np.sort(np.argsort(-p, kind="stable")[: min(5, np.count_nonzero(p))])
    return "  ".join(f"{k}: {p[k]:.2f}" for k in likely)


def _too_few(agreement: Agreement) -> tuple[str, ...]:
    """That the draws are worth few independent ones, and what to do about it; empty otherwise."""
    # The smaller one, of the bulk and of the tails; NaN, from few draws, is not below.
    worths = [(min(one.ess_bulk, one.ess_tail), one.name) for one in agreement.series]
    # With 100 a probability near 1/2 has a standard error of 0.05.
    few = [pair for pair in worths if pair[0] < 100]
    if not few:
        return ()
    worth, name = min(few)
    return (
        f"The draws are worth only {worth:.0f} independent ones ({name}). Take more draws, or "
        "a larger 'thin'.",
    )


# --- when chains do not meet ---


def later_means(log_posterior: FloatArray) -> FloatArray:
    """(n_chains,) mean log posterior in the second half of each chain, where late ones have arrived."""
    means: FloatArray = log_posterior[:, log_posterior.shape[1] // 2 :].mean(axis=1)
    return means


def describe_apart(log_posterior: FloatArray) -> tuple[str, ...]:
    """Sentences about the chains that are not where the best one is, and what to try; empty if all are.

    The best chain is the one with the highest mean log posterior in its second half. Another chain is off if
    its own is lower by more than chance explains, three standard deviations of single draws.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.sampling.trace import describe_apart
    >>> print(describe_apart(np.array([[-3.0] * 4, [-8.0] * 4]))[0])
    Chain 1 (counted from 0) is off: its log posterior is 5 below that of chain 0.
    """
    later = later_means(log_posterior)
    best = int(np.argmax(later))
    gaps = later[best] - later
    off = np.flatnonzero(gaps > 3 * log_posterior[best, log_posterior.shape[1] // 2 :].std())
    if off.size == 0:
        return ()
    return (
        *(
            f"Chain {chain} (counted from 0) is off: its log posterior is {gaps[chain]:.3g} below that of "
            f"chain {best}."
            for chain in off
        ),
        "To try: a longer burn-in; more split-merge proposals, such as moves=[Gibbs(), "
        "SplitMerge(proposals=200)]; or sample(model, start=trace, ...), which continues all chains "
        "from the best one. Chains from one start can no longer show whether they would have met. Until "
        "then, do not report the answer.",
    )
