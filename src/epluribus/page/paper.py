"""The paragraph for the methods section of a paper: what was done, and no more."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from epluribus._cards import Card, Shown
from epluribus._text import count, percent, sentence_list, span
from epluribus._version import __version__
from epluribus.estimate import Estimate
from epluribus.page.contents import degenerate, share
from epluribus.page.facts import Facts

_CITED = {
    "Balocchi & Wade 2025": "Balocchi, C., Wade, S. (2025). Understanding uncertainty in Bayesian cluster analysis. "
    "https://doi.org/10.48550/arXiv.2506.16295",
    "Rastelli & Friel (2018)": "Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable "
    "cluster models. Statistics and Computing 28, 1169-1186. https://doi.org/10.1007/s11222-017-9786-y",
    "Strehl & Ghosh 2003": "Strehl, A., Ghosh, J. (2003). Cluster ensembles - a knowledge reuse framework for "
    "combining multiple partitions. Journal of Machine Learning Research 3, 583-617. "
    "https://doi.org/10.1162/153244303321897735",
    "Vehtari et al. 2021": "Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., Buerkner, P.-C. (2021). "
    "Rank-normalization, folding, and localization: an improved R-hat. Bayesian Analysis 16, 667-718. "
    "https://doi.org/10.1214/20-BA1221",
    "Wade & Ghahramani 2018": "Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and "
    "credible balls. Bayesian Analysis 13, 559-626. https://doi.org/10.1214/17-BA1073",
}
"""References, by how the paragraph cites them; that of a loss is its own."""
_YEAR = "2026"
"""Year of the version, as in CITATION.cff."""
_TITLE = "epluribus: one optimal partition out of many posterior draws"
_EPLURIBUS = f"The epluribus developers ({_YEAR}). {_TITLE}. Version {__version__}, Python package."
_PARTS = re.compile(
    r"(?P<author>.+?) \((?P<year>\d{4})\)\. (?P<title>.+?)\. "
    r"(?:(?P<journal>.+?) (?P<volume>\d+), (?P<pages>[\d-]+)\. |Version (?P<version>.+), Python package\.$)?"
    r"(?:https://doi\.org/(?P<doi>\S+))?$"
)
"""The parts of a reference as we write them, by the name of their field in BibTeX."""
UNUSED = ("items", "clusters", "similarity", "comparison")
"""Facts of the page that the paragraph does not need."""


@dataclass(frozen=True)
class MethodsText(Shown):
    """A paragraph for the methods section of a paper, with its references; print it."""

    text: str
    """The paragraph."""
    references: tuple[str, ...]
    """The references it cites, in the order of their authors; epluribus itself is one of them."""

    @property
    def bibtex(self) -> str:
        """An entry for each of the references."""
        return "\n\n".join(map(_entry, self.references))

    def to_dict(self) -> dict[str, str | list[str]]:
        """Plain Python values, ready for JSON."""
        return {"text": self.text, "references": list(self.references), "bibtex": self.bibtex}

    def _card(self) -> Card:
        # In plain text an empty line stands before the references.
        first, *others = self.references
        return Card("", self.text, f"\n{first}", *others, heading="Methods", indent="")


def _entry(reference: str) -> str:
    """The BibTeX entry of a reference; one that is not written as ours are is a note."""
    found = _PARTS.match(reference)
    if found is None:
        return f"@misc{{reference,\n  note = {{{reference}}}\n}}"
    parts = {name: text for name, text in found.groupdict().items() if text}
    key = re.sub(r"\W", "", parts["author"].removeprefix("The ").partition(" ")[0]).lower()
    kind = "article" if "journal" in parts else "software" if "version" in parts else "misc"
    # "Wade, S., Ghahramani, Z.": an author ends with a point; a name of no person is kept whole.
    names = re.split(r"(?<=\.), ", parts["author"])
    parts["author"] = " and ".join(names) if "," in parts["author"] else f"{{{parts['author']}}}"
    lines = [f"  {name} = {{{text.replace('&', chr(92) + '&')}}}" for name, text in parts.items()]
    return f"@{kind}{{{key}{parts['year']},\n" + ",\n".join(lines) + "\n}"


def write_methods(facts: Facts) -> MethodsText:
    """A paragraph for the methods section of a paper, and its references in the order of their authors.

    It names the loss, the draws, the search and its bound, and every measure that the page shows, with the
    number found; each measure brings the reference that introduced it. Where chains disagree it says that
    nothing of it may be published.
    """
    best, draws, error, modes = facts.best, facts.draws, facts.error, facts.modes
    # Error, ball and modes of draws that do not vary would be numbers without meaning.
    if degenerate(facts):
        share_it = f"the partition that all {draws.n_draws:,} draws share"
        what = "the only draw" if draws.n_draws == 1 else share_it
        text = (
            f"The estimate of the partition of the {count(draws.n_items, 'item')}, made with epluribus {__version__}, "
            f"is {what}, with {count(best.n_clusters, 'cluster')}. The draws do not vary, so nothing can be "
            "said about its uncertainty."
        )
        return MethodsText(facts.worded(text), (_EPLURIBUS,))
    chains = "one chain" if draws.n_chains == 1 else f"{draws.n_chains} chains"
    weighted = "weighted " if (draws.draw_weights != draws.draw_weights[0]).any() else ""
    sample = f"{count(draws.n_draws, f'{weighted}draw')} from {chains}"
    parts = [_found(best, facts.bound, sample), draws.origin]
    if facts.disagree:
        stop = "[Not for publication: the chains disagree, so that these numbers mean little.]"
        parts.insert(0, stop)
    if error is not None and not facts.ensemble and not math.isnan(error.standard_error):
        parts.append(
            f"Its Monte Carlo standard error is {error.standard_error:.2g} (effective sample size "
            f"{error.ess:,.0f}, rank-normalized split R-hat {error.rhat:.3f}; Vehtari et al. 2021)."
        )
    if facts.ball is not None:
        radius = best.loss.with_unit(f"{facts.ball.radius:.4g}")
        parts.append(
            f"A share of {share(facts.ball.mass)} of the clusterings is within {radius} of it."
            if facts.ensemble
            else f"The {100 * facts.ball.level:g}% credible ball around the estimate (Wade & Ghahramani 2018) has a "
            f"radius of {radius}."
        )
    if not facts.ensemble:
        interval, mass = span(*facts.n_clusters.interval), share(facts.n_clusters.mass)
        parts.append(f"The number of clusters is {interval} with posterior probability {mass}.")
    if facts.left_out is not None:
        parts.append(_undecided(best, len(facts.left_out), facts.left_out.cost))
    if draws.has_missing:
        missing = percent(1.0 - float(draws.n_seen.mean()) / draws.n_items)
        text = f"{missing} of the labels are missing: a draw counts for the items it has seen."
        parts.append(facts.worded(text))
    parts.append(facts.worded(_certificate(facts)))
    if modes is not None and modes.n_modes > 1:
        parts.append(
            f"The {'ensemble' if facts.ensemble else 'posterior'} was also summarized by {modes.n_modes} partitions "
            f"with weights (Balocchi & Wade 2025){'' if modes.trusted else '; the weights are not to be trusted'}."
        )
    elif modes is not None and modes.diffuse:
        text = "The draws are diffuse: no single partition is a fair summary of them."
        parts.append(facts.worded(text))
    return _with_references(" ".join(filter(None, parts)), best)


def methods_alone(best: Estimate) -> MethodsText:
    """The same without the draws: what was done, and nothing about uncertainty."""
    sample = count(best.n_draws, "draw") if best.n_draws else "a similarity matrix"
    text, n_undecided = _found(best, best.settings.bound, sample), len(best.undecided)
    if n_undecided and best.settings.undecided is not None:
        text += " " + _undecided(best, n_undecided, best.settings.undecided)
    return _with_references(text, best)


def _with_references(text: str, best: Estimate) -> MethodsText:
    """The paragraph with the references that it cites, that of epluribus, and that of the loss."""
    cited = {reference for mark, reference in _CITED.items() if mark in text}
    cited |= {_EPLURIBUS, best.loss.reference or _EPLURIBUS}
    return MethodsText(text, tuple(sorted(cited)))  # by author


def _found(best: Estimate, bound: str, sample: str) -> str:
    """What was done: the draws, the loss, the bound of the search, the search and its expected loss."""
    items = count(len(best.labels) - len(best.undecided), "item")
    # A user's own loss has no title. The optimum for few items is found with proof, without runs.
    loss = best.loss.title or f"the loss '{best.loss.name}'"
    among = f" among partitions {bound}" if bound else ""
    runs = f"a search of {count(len(best.runs), 'run')}" if best.runs else "an exact search"
    early = "" if best.converged else ", which had not converged"
    search = f"that was found{among} by {runs} with epluribus {__version__}{early}"
    has, value = count(best.n_clusters, "cluster"), best.loss.with_unit(f"{best.expected_loss:.4g}")
    if 1 < best.n_clusters <= 8:  # more would not be read
        has += f", of {sentence_list([f'{n:,}' for n in best.sizes])} items"
    # An ensemble has neither chains nor probabilities.
    if best.kind == "ensemble":
        return (
            f"The {count(best.n_draws, 'clustering')} of the {items} were combined into one consensus partition "
            f"(Strehl & Ghosh 2003): that with the smallest mean of {loss} to them {search}. It has {has}; its mean "
            f"loss is {value}."
        )
    return (
        f"The posterior distribution of the partition of the {items}, represented by {sample}, was "
        f"summarized, following Rastelli & Friel (2018), by the partition with the smallest posterior "
        f"expectation of {loss} {search}. This estimate has {has}; its expected loss is {value}."
    )


def _undecided(best: Estimate, n: int, cost: float) -> str:
    """That items were left undecided."""
    return (
        f"All of this is about these items: {count(n, 'other item')}, each of which would have added "
        f"more than {best.loss.with_unit(f'{cost:g}')}, {'was' if n == 1 else 'were'} left undecided."
    )


def _certificate(facts: Facts) -> str:
    """What is proved about the estimate; empty if little is: a gap above one half is on the page only."""
    found = facts.certificate
    if found is None or found.relative_gap > 0.5:
        return ""
    among = f" among partitions {found.among}" if found.among else ""
    if found.proved:
        return f"The estimate was proved optimal{among} for these draws."
    # The verdict reads "within 3%", of which the sentence needs the number.
    above = found.verdict.removeprefix("within ").removesuffix(among)
    return f"The expected loss of the estimate is at most {above} above the smallest possible{among} for these draws."
