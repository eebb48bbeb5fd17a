"""The paragraph for the methods section of a paper: what was done, and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass

from epluribus._text import count, percent
from epluribus._version import __version__
from epluribus.estimate import Estimate
from epluribus.report.facts import Facts
from epluribus.report.words import (
    degenerate,
    disagree,
    interval,
    is_ensemble,
    number,
    share,
    terms,
)

_MAX_GAP = 0.5
"""A larger relative gap of the certificate says little: it is on the page, not in the methods paragraph."""

_RASTELLI = (
    "Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models. "
    "Statistics and Computing 28, 1169-1186. https://doi.org/10.1007/s11222-017-9786-y"
)
_STREHL = (
    "Strehl, A., Ghosh, J. (2003). Cluster ensembles - a knowledge reuse framework for combining multiple "
    "partitions. Journal of Machine Learning Research 3, 583-617. "
    "https://doi.org/10.1162/153244303321897735"
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
_YEAR = 2026
"""Year of the version, as in CITATION.cff."""
_TITLE = "epluribus: one optimal partition out of many posterior draws"
_EPLURIBUS = f"The epluribus developers ({_YEAR}). {_TITLE}. Version {__version__}, Python package."
UNUSED = ("items", "clusters", "values", "heatmap", "comparison")
"""Facts of the page that the paragraph does not need."""


@dataclass(frozen=True)
class MethodsText:
    """A paragraph for the methods section of a paper, with its references; print it."""

    text: str
    """The paragraph."""
    references: tuple[str, ...]
    """The references it cites, in the order of their authors; epluribus itself is one of them."""

    @property
    def bibtex(self) -> str:
        """The entry of epluribus itself for a bibliography."""
        return "\n".join(
            [
                f"@software{{epluribus{_YEAR},",
                "  author  = {{The epluribus developers}},",
                f"  title   = {{{_TITLE}}},",
                f"  year    = {{{_YEAR}}},",
                f"  version = {{{__version__}}}",
                "}",
            ]
        )

    def to_dict(self) -> dict[str, str | list[str]]:
        """Plain Python values, ready for JSON."""
        return {"text": self.text, "references": list(self.references), "bibtex": self.bibtex}

    def __str__(self) -> str:
        return "\n\n".join([self.text, "\n".join(self.references)])


def methods(facts: Facts) -> tuple[str, list[str]]:
    """A paragraph for the methods section of a paper, and its references in the order of their authors.

    It names the loss, the draws, the search and its bound, and every measure that the page shows, with the
    number found; each measure brings the reference that introduced it. Where chains disagree it says that
    nothing of it may be published.
    """
    best, draws = facts.best, facts.draws
    items, has = count(draws.n_items, "item"), count(best.n_clusters, "cluster")
    # Error, ball and modes of draws that do not vary would be numbers without meaning.
    if degenerate(facts):
        return _equal_draws(facts, items, has), [_EPLURIBUS]
    references = _references(best)
    if is_ensemble(facts):
        text = _consensus(best, facts.bound, items) + _share_inside(facts)
    else:
        chains = "one chain" if draws.n_chains == 1 else f"{draws.n_chains} chains"
        weighted = "weighted " if (draws.draw_weights != draws.draw_weights[0]).any() else ""
        noun = "draw" if draws.n_draws == 1 else "draws"
        sample = f"{draws.n_draws:,} {weighted}{noun} from {chains}"
        text = _posterior(best, facts.bound, items, sample) + _error(facts, references)
        text = f"{text}. {_spread(facts, references)}"
    if facts.left_out is not None:
        text += _undecided(best, len(facts.left_out), facts.left_out.cost)
    text += _missing(facts) + _certificate(facts)
    if facts.modes is not None and facts.modes.n_modes > 1:
        what = "ensemble" if is_ensemble(facts) else "posterior"
        text += (
            f" The {what} was also summarized by {facts.modes.n_modes} partitions with weights "
            f"(Balocchi & Wade 2025){'' if facts.modes.trusted else '; the weights are not to be trusted'}."
        )
        references.append(_BALOCCHI)
    elif facts.modes is not None and facts.modes.diffuse:
        what = terms(facts).draw
        text += f" The {what}s are diffuse: no single partition is a fair summary of them."
    if disagree(facts):
        text = (
            f"[Not for publication: the chains disagree, so that these numbers mean little.] {text}"
        )
    return text, sorted(references)  # by author


def methods_alone(best: Estimate) -> tuple[str, list[str]]:
    """The same without the draws: what was done, and nothing about uncertainty."""
    n_undecided = len(best.undecided)
    items, bound = count(len(best.labels) - n_undecided, "item"), best.settings.bound
    if best.kind == "ensemble":
        text = _consensus(best, bound, items)
    else:
        sample = count(best.n_draws, "draw") if best.n_draws else "a similarity matrix"
        text = f"{_posterior(best, bound, items, sample)}."
    if n_undecided and best.settings.undecided is not None:
        text += _undecided(best, n_undecided, best.settings.undecided)
    return text, sorted(_references(best))


def _references(best: Estimate) -> list[str]:
    """The references for any estimate of this kind and loss."""
    first = _STREHL if best.kind == "ensemble" else _RASTELLI
    own = [best.loss.reference] if best.loss.reference not in ("", _RASTELLI) else []
    return [_EPLURIBUS, first, *own]


def _undecided(best: Estimate, n: int, cost: float) -> str:
    """That items were left undecided."""
    return (
        f" All of this is about these items: {count(n, 'other item')}, each of which would have added "
        f"more than {best.loss.with_unit(f'{cost:g}')}, {'was' if n == 1 else 'were'} left undecided."
    )


def _missing(facts: Facts) -> str:
    """That labels are missing; empty otherwise."""
    draws = facts.draws
    if not draws.has_missing:
        return ""
    share = percent(1.0 - float(draws.n_seen.mean()) / draws.n_items)
    return (
        f" {share} of the labels are missing: each {terms(facts).draw} was compared on the items it "
        "had seen."
    )


def _search(best: Estimate) -> str:
    """How the partition was found: 'by a search of 10 runs with epluribus 0.1.0'."""
    early = "" if best.converged else ", which was stopped early"
    # The optimum for few items is found with proof, without runs.
    runs = f"a search of {count(len(best.runs), 'run')}" if best.runs else "an exact search"
    return f"by {runs} with epluribus {__version__}{early}"


def _found(best: Estimate, bound: str) -> str:
    """The loss, the bound on the number of clusters, if there was one, and the search."""
    # A user's own loss has no title.
    loss = best.loss.title or f"the loss '{best.loss.name}'"
    to = " to them" if best.kind == "ensemble" else ""
    among = f" among partitions {bound}" if bound else ""
    return f"{loss}{to} that was found{among} {_search(best)}"


def _posterior(best: Estimate, bound: str, items: str, sample: str) -> str:
    """What was done with a posterior sample, up to the expected loss."""
    return (
        f"The posterior distribution of the partition of the {items}, represented by {sample}, was "
        f"summarized, following Rastelli & Friel (2018), by the partition with the smallest posterior "
        f"expectation of {_found(best, bound)}. This estimate has {count(best.n_clusters, 'cluster')}; its "
        f"expected loss is {best.loss.with_unit(number(best.expected_loss))}"
    )


def _error(facts: Facts, references: list[str]) -> str:
    """The precision of the expected loss, if it is known."""
    error = facts.error
    if error is None or math.isnan(error.standard_error):
        return ""
    references.append(_VEHTARI)
    return (
        f", with a Monte Carlo standard error of {number(error.standard_error, 2)} (effective "
        f"sample size {error.ess:,.0f}, rank-normalized split R-hat {error.rhat:.3f}; Vehtari et al. 2021)"
    )


def _spread(facts: Facts, references: list[str]) -> str:
    """The credible ball, unless it was left out, and the number of clusters."""
    text, ball = "", facts.ball
    if ball is not None:
        text = (
            f"The {100 * ball.level:g} % credible ball around the estimate (Wade & Ghahramani 2018) has a "
            f"radius of {ball.loss.with_unit(number(ball.radius))}. "
        )
        references.append(_WADE)
    return (
        f"{text}The number of clusters is {interval(facts)} with posterior probability "
        f"{share(facts.n_clusters.mass)}."
    )


def _consensus(best: Estimate, bound: str, items: str) -> str:
    """What was done with an ensemble, which has neither chains nor probabilities."""
    return (
        f"The {count(best.n_draws, 'clustering')} of the {items} were combined into one consensus partition "
        f"(Strehl & Ghosh 2003): that with the smallest mean of {_found(best, bound)}. It has "
        f"{count(best.n_clusters, 'cluster')}; its mean loss is "
        f"{best.loss.with_unit(number(best.expected_loss))}."
    )


def _share_inside(facts: Facts) -> str:
    """The ball around the consensus of an ensemble, unless it was left out."""
    ball = facts.ball
    if ball is None:
        return ""
    return (
        f" A share of {share(ball.mass)} of the clusterings is within "
        f"{ball.loss.with_unit(number(ball.radius))} of it."
    )


def _certificate(facts: Facts) -> str:
    """What is proved about the estimate; empty if little is."""
    found = facts.certificate
    if found is None or found.relative_gap > _MAX_GAP:
        return ""
    among = f" among partitions {found.among}" if found.among else ""
    what = f"{terms(facts).draw}s{among}"
    if found.proved:
        return f" The estimate was proved optimal for these {what}."
    # The verdict reads "within 3 %", of which the sentence needs the number.
    above = found.verdict.removeprefix("within ")
    cut = " (by a bound that a time limit ended early)" if found.cut else ""
    least = f"the smallest possible for these {what}{cut}"
    return f" The {terms(facts).loss} of the estimate is at most {above} above {least}."


def _equal_draws(facts: Facts, items: str, has: str) -> str:
    """The paragraph where the draws do not vary; `items` and `has` are the numbers of items and clusters."""
    n, draw = facts.draws.n_draws, terms(facts).draw
    what = f"the only {draw}" if n == 1 else f"the partition that all {count(n, draw)} share"
    return (
        f"The estimate of the partition of the {items}, made with epluribus {__version__}, is "
        f"{what}, with {has}. The {draw}s do not vary, so nothing can be said about its uncertainty."
    )
