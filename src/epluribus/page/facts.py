"""Everything the page states, computed once.

Each field of `Facts` is filled by one step. A step that would take minutes is not begun, nor is one after the
time limit; Ctrl-C leaves out the step it meets and those after it. In every case a note on the page says what
is missing, and why.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epluribus import losses, uncertainty
from epluribus._parallel import Stopper, finish
from epluribus._progress import Progress, ProgressLike
from epluribus._text import count, sentence_list, span, worded
from epluribus._typing import DrawsLike, IntArray, RngLike
from epluribus._validate import make_rng
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import expected_loss
from epluribus.estimate import Estimate, raise_if_interrupted, read_best
from epluribus.page.contents import picture
from epluribus.partition import check_estimate, matched, relabel
from epluribus.plots._network import check_shape, read_links
from epluribus.plots._shared import read_data
from epluribus.search._minimize import minimize_within
from epluribus.search.comparison import Comparison, set_side_by_side
from epluribus.uncertainty import left_out, n_clusters_posterior

_ALL_LOSSES = 10**6
"""Up to this many labels (items times distinct draws) all losses are compared; above, only the quick, linear ones."""
_HEAVY = 2 * 10**8
"""Above this many the steps that need further searches are left out."""
STEPS = {
    "items": "the certainty of items",
    "clusters": "the solidity of clusters",
    "ball": "the credible ball",
    "plausibility": "the p-values of other partitions",
    "error": "the diagnostics of the chains",
    "similarity": "the similarity matrix",
    "comparison": "other losses",
    "modes": "modes",
    "certificate": "the certificate",
}
"""What the notes call the steps, by the field of `Facts` that each fills, in the order in which they run: the quick
ones first, so that Ctrl-C loses little."""


@dataclass(frozen=True)
class Facts:
    """The estimate, the draws, and what is known about both; None for what was left out."""

    best: Estimate
    draws: Draws
    bound: str
    """The bound on the partitions in the search, in words; empty if there was none."""
    n_clusters: uncertainty.NClusters
    """Posterior of the number of clusters: quick, and on every page."""
    items: uncertainty.ItemTable | None = None
    clusters: uncertainty.ClusterTable | None = None
    ball: uncertainty.CredibleBall | None = None
    error: uncertainty.MonteCarloError | None = None
    """Precision of the expected loss, and whether the chains agree."""
    similarity: str | None = None
    """The picture of the similarity matrix."""
    comparison: Comparison | None = None
    """Estimates for several losses, the reported one first."""
    modes: uncertainty.Modes | None = None
    certificate: uncertainty.Certificate | None = None
    left_out: uncertainty.LeftOut | None = None
    """The undecided items; None if there are none. All other facts are about the decided ones."""
    others: tuple[IntArray, ...] = ()
    """Other partitions to compare with, in the order of `plausibility`."""
    plausibility: uncertainty.Plausibility | None = None
    """Whether the posterior can live with them."""
    health: uncertainty.Health | None = None
    """The lines on chains, items and modes; None where something of it is not known."""
    data: Any = None
    """The data behind the draws, with a row for each item; as they were given, so with the names of columns."""
    network: Any = None
    """The matrix of the network of the items."""
    notes: tuple[str, ...] = ()
    """What was left out, and why, in sentences."""

    @property
    def ensemble(self) -> bool:
        """Whether the draws are an ensemble of clusterings, not a posterior sample."""
        return self.draws.kind == "ensemble"

    def worded(self, text: str) -> str:
        """A text on draws, in the words for them: an ensemble has no probabilities."""
        return worded(text, self.draws.kind)

    @property
    def quick_losses_only(self) -> bool:
        """Whether there are too many labels to compare all losses."""
        return n_labels(self.draws) > _ALL_LOSSES

    @property
    def disagree(self) -> bool:
        """Whether the chains disagree, so that nothing on the page may be published."""
        return self.error is not None and self.error.agreement.agree is False


def n_labels(draws: Draws) -> int:
    """Items times distinct draws."""
    return draws.n_items * draws.n_distinct


def gather(
    best: Estimate,
    draws: DrawsLike,
    *,
    level: float = 0.95,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
    time_limit: float | None = None,
    brief: bool = False,
    data: Any = None,
    network: Any = None,
    partitions: Mapping[str, Any] | None = None,
    skip: Collection[str] = (),
) -> Facts:
    """Compute what the page states; of an estimate with undecided items, about the decided ones.

    The arguments are those of `report`. `skip` has steps that are not needed, by the field of `Facts`;
    no note says that they are missing. The bar shows one step per field.
    """
    check_estimate(best)
    posterior, generator = as_draws(draws), make_rng(rng)
    settings, table = best.settings, None
    if data is not None:
        data = matched(data, posterior, "data", rows=True)
        read_data(data, argument="data")
    if network is not None:
        network = read_links(network, posterior, "network")[0]
        check_shape(network, (posterior.n_items, posterior.n_items), "network")
    others = {
        name: matched(one, posterior, f"partitions[{name!r}]")
        for name, one in (partitions or {}).items()
    }
    if len(best.undecided):
        table, runs = left_out(best, posterior), best.runs  # the page says how many runs there were
        inside = np.flatnonzero(matched(best, posterior, missing=True) >= 0)
        data = data if data is None else getattr(data, "iloc", data)[inside]
        network = network if network is None else network[inside][:, inside]
        others = {name: relabel(one[inside]) for name, one in others.items()}
        best, posterior = best.decided(posterior)
        best = replace(best, runs=runs)
    labels, posterior, loss = read_best(best, posterior, None)
    if best.n_draws == 0:  # found from a similarity matrix: the page has what the draws say of it
        best = replace(best, loss=loss, expected_loss=expected_loss(labels, posterior, loss))
    # What the page says about the draws is about these, in their order of the items.
    best = replace(
        best, labels=labels, items=posterior.items, n_draws=posterior.n_draws, kind=posterior.kind
    )
    # A user's progress function runs in `show`; if Ctrl-C meets it there, the stopper keeps it for `check`.
    stopper = Stopper(time_limit)
    n_clusters = finish(lambda: n_clusters_posterior(posterior, best=best, level=level))
    found: dict[str, Any] = {}
    steps = _steps(best, posterior, level, generator, n_jobs, stopper)
    steps["plausibility"] = lambda: uncertainty.plausibility(others, posterior, loss)
    wanted = [name for name in STEPS if name not in skip and (others or name != "plausibility")]
    notes = _too_heavy(posterior, wanted)
    bar = Progress(progress, len(wanted), "report", stopper)
    try:
        for number, name in enumerate([] if brief else wanted):
            if stopper.stopped:
                break
            bar.show(number, {"now": STEPS[name]})
            stopper.check()
            found[name] = steps[name]()
            bar.show(number + 1, {})
            stopper.check()
    except KeyboardInterrupt:
        pass  # the note below names what is missing
    finally:
        bar.close()
    missing = [STEPS[name] for name in wanted if name not in found]
    if "modes" in found and not found["modes"].converged:
        # Those found by then depend on the clock.
        found["modes"] = None
        notes.append(f"Modes are left out: they were not found within {time_limit:g} s.")
    if missing:
        why = "Ctrl-C was pressed before the end"
        if stopper.stopped and not stopper.interrupted:
            why = f"The time limit of {time_limit:g} s was reached"
        elif brief and not best.interrupted:  # the command is brief after Ctrl-C in the search
            why = "A brief page was asked for"
        notes.append(f"{why}. Left out: {sentence_list(missing)}.")
    error, own = found.get("error"), found.get("items")
    if own is not None and error is not None:
        modes, agreement = found.get("modes"), error.agreement
        known = uncertainty.health(best, posterior, agreement=agreement, table=own, modes=modes)
        found["health"] = known
    return Facts(
        best, posterior, settings.bound, n_clusters, **found, left_out=table, data=data, network=network,
        others=tuple(others.values()), notes=tuple(notes),
    )  # fmt: skip


def _steps(
    best: Estimate,
    draws: Draws,
    level: float,
    rng: np.random.Generator,
    n_jobs: int | None,
    stopper: Stopper,
) -> dict[str, Callable[[], Any]]:
    """The steps by the field of `Facts` that each fills."""
    # The modes must be those that `epluribus modes` finds with the same seed, whatever runs before them:
    # their generator has a copy of the seed sequence, so it spawns the same children as a fresh one.
    seed: Any = copy.deepcopy(rng.bit_generator.seed_seq)
    modes_rng = np.random.default_rng(seed)

    def left() -> float | None:
        """What is left of the time limit of the page."""
        return None if stopper.left is None else max(1e-3, stopper.left)

    def search(loss: str) -> Estimate:
        """The best partition for another loss; one that Ctrl-C ended is of no use."""
        estimate = minimize_within(draws, loss, left(), rng=rng, n_jobs=n_jobs)
        raise_if_interrupted(estimate)
        return estimate

    def comparison() -> Comparison:
        """The estimate beside those for the other losses; missing labels go with linear losses only."""
        all_losses = not draws.has_missing and n_labels(draws) <= _ALL_LOSSES
        usable = (name for name in losses.available() if all_losses or losses.get(name).linear)
        others = [search(name) for name in usable if name != best.loss.name]
        return set_side_by_side(draws, [best, *others])

    return {
        "items": lambda: uncertainty.items(best, draws, n_jobs=n_jobs),
        "clusters": lambda: uncertainty.clusters(best, draws, n_jobs=n_jobs),
        "ball": lambda: uncertainty.credible_ball(best, draws, level),
        "error": lambda: uncertainty.error(best, draws, n_jobs=n_jobs),
        "similarity": lambda: picture("similarity", best, draws, size=(6.5, 5.4)),
        "comparison": comparison,
        "modes": lambda: uncertainty.modes(
            draws, best.loss, rng=modes_rng, n_jobs=n_jobs, time_limit=left()
        ),
        "certificate": lambda: uncertainty.certificate(
            best, draws, time_limit=left(), n_jobs=n_jobs
        ),
    }


def _too_heavy(draws: Draws, wanted: list[str]) -> list[str]:
    """Take the steps that would last minutes out of those wanted; the notes that say so, and what is missing."""
    notes, noun = [], "clustering" if draws.kind == "ensemble" else "draw"
    if draws.has_missing:
        seen = span(int(draws.n_seen.min()), int(draws.n_seen.max()))
        notes.append(
            f"Labels are missing: each {noun} counts for the items that it has seen, {seen} of "
            f"{count(draws.n_items, 'item')}."
        )
        if "plausibility" in wanted:
            wanted.remove("plausibility")
            notes.append(f"Left out because labels are missing: {STEPS['plausibility']}.")
    # A search takes some ten sweeps, each over the labels of all items in all distinct draws.
    heavy = [name for name in ("comparison", "modes", "certificate") if name in wanted]
    if n_labels(draws) > _HEAVY and heavy:
        for name in heavy:
            wanted.remove(name)
        notes.append(
            f"Left out because they would take too long with {count(draws.n_distinct, f'distinct {noun}')} of "
            f"{count(draws.n_items, 'item')}: {sentence_list([STEPS[name] for name in heavy])}."
        )
    return notes
