"""How the estimate changes when the choices behind it are changed.

Each row of the table is another search: under another loss, with another cost of separating, on one
half of the draws, or from another seed. The distance to the reference is the variation of information

    VI(a, b) = H(a | b) + H(b | a)

in bits, which is 0 for the same partition and at most log2 N.

Meila, M. (2007). Comparing clusterings: an information based distance. Journal of Multivariate
Analysis 98, 873-895. doi:10.1016/j.jmva.2006.11.013
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus import losses
from epluribus._cards import Card, Shown, Table
from epluribus._parallel import Stopper
from epluribus._progress import ProgressLike, make_progress
from epluribus._text import sentence_list, to_frame
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike, RngLike
from epluribus._validate import check_count, make_rng
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import raise_if_interrupted
from epluribus.losses.base import BUILT_IN, Loss
from epluribus.losses.values import loss_values
from epluribus.search._minimize import minimize_within


@dataclass(frozen=True, repr=False, eq=False)
class Stability(Shown):
    """Estimates under changed settings; the first row is the reference."""

    settings: tuple[str, ...]
    """What was changed in each row, in words."""
    labels: IntArray
    """(n_settings, n_items) canonical labels."""
    n_clusters: IntArray
    """Number of clusters of each estimate."""
    expected_losses: FloatArray
    """Under the reference loss, on all draws: comparable between rows."""
    distances: FloatArray
    """Variation of information to the reference, in bits."""
    agreement: FloatArray
    """Share of the pairs of items on which the row and the reference agree (Rand index)."""
    loss: Loss
    """The reference loss."""
    converged: NDArray[np.bool_]
    """Whether each search ended by itself, not by the time limit."""

    def columns(self) -> dict[str, Any]:
        """The table as lists and arrays by name."""
        return {
            "setting": list(self.settings),
            "clusters": self.n_clusters,
            "expected_loss": self.expected_losses,
            "distance": self.distances,
            "agreement": self.agreement,
        }

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return to_frame(self.columns())

    def __len__(self) -> int:
        return len(self.settings)

    def __repr__(self) -> str:
        return (
            f"Stability(n_settings={len(self)}, largest_distance={self.distances.max():.4g}, "
            f"loss={self.loss.name!r})"
        )

    def _card(self) -> Card:
        columns = self.columns()
        columns["expected_loss"] = [f"{value:.6g}" for value in self.expected_losses]
        # The same number of digits in each row, so that equal rows look equal.
        columns["distance"] = [f"{value:.4f}" for value in self.distances]
        columns["agreement"] = [f"{value:.4f}" for value in self.agreement]
        table = {name.replace("_", " "): column for name, column in columns.items()}
        note = (
            f"expected loss: {self.loss.name} on all draws; distance: vi to the first row, in bits"
        )
        lines = []
        if not self.converged.all():
            short = [self.settings[row] for row in np.flatnonzero(~self.converged)]
            lines.append(f"cut short by the time limit: {sentence_list(short)}")
        heading = "The answer under other settings"
        return Card("", Table(table, note), *lines, heading=heading, indent="")


def stability(
    draws: DrawsLike,
    loss: LossLike = "vi",
    *,
    other_losses: Sequence[LossLike] = ("vi", "binder", "omari"),
    costs: Sequence[float] = (0.5, 0.8, 1.2, 1.5),
    halves: bool = True,
    n_seeds: int = 2,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
    time_limit: float | None = None,
) -> Stability:
    """How the estimate changes with the loss, its cost, halves of the sample, and the seed.

    In a paper: *estimates from the two halves of the sample differ from that of all draws by 0.02
    and 0.03 bits; under Binder's loss three more small clusters appear*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi"
        The reference loss.
    other_losses : sequence of str or Loss, default ("vi", "binder", "omari")
        Losses to try; the reference itself is left out.
    costs : sequence of float, default (0.5, 0.8, 1.2, 1.5)
        Costs of separating to try, if the reference is a built-in loss with a cost ("vi", "binder"); its
        own cost is left out.
    halves : bool, default True
        Whether to try the first and the second half of each chain.
    n_seeds : int, default 2
        Number of searches from other seeds.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same gives the same answer.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``, with the rows of the
        table.
    time_limit : float, optional
        Seconds for all searches together; each may take an equal share of what is left. What a search has
        found by then is its row, marked in `Stability.converged`.

    Returns
    -------
    Stability
        One row per search, the reference first.

    Notes
    -----
    Every row costs one search, `minimize`: 11 of them by default.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 2]]
    >>> print(epl.uncertainty.stability(draws, costs=[1.9], n_seeds=1, rng=1))
    setting       clusters  expected loss  distance  agreement
    all draws            2       0.364787    0.0000     1.0000
    binder               2       0.364787    0.0000     1.0000
    omari                2       0.364787    0.0000     1.0000
    vi(cost=1.9)         1        1.09436    1.0000     0.4000
    first half           2       0.364787    0.0000     1.0000
    second half          2       0.364787    0.0000     1.0000
    seed 1               2       0.364787    0.0000     1.0000
    expected loss: vi on all draws; distance: vi to the first row, in bits
    """
    sample, chosen = as_draws(draws), losses.get(loss)
    sample.check_complete("Stability")
    others = [losses.get(other) for other in other_losses]
    n_seeds = check_count(n_seeds, "n_seeds", low=0)
    # The reference loss with other costs; a user's own loss has no cost that could be changed here.
    if chosen.family is not None and "cost" in chosen.parameters:
        others += [BUILT_IN[chosen.family](cost) for cost in costs]
    # The same seed for all rows but the last ones, so that each row shows the effect of one change only.
    seed, *seeds = (int(number) for number in make_rng(rng).integers(2**63, size=1 + n_seeds))
    plan = {"all draws": (sample, chosen, seed)}
    # The reference again would be the first row again.
    plan |= {other.name: (sample, other, seed) for other in others if other.name != chosen.name}
    if halves:
        plan |= {name: (half, chosen, seed) for name, half in _halves(sample).items()}
    plan |= {f"seed {number}": (sample, chosen, one) for number, one in enumerate(seeds, start=1)}
    stopper = Stopper(time_limit)
    bar = make_progress(progress, len(plan), "stability", stopper)
    labels, converged = [], []
    try:
        for number, (name, (part, target, one)) in enumerate(plan.items()):
            left = stopper.left
            # An equal share of the time left. A limit must be positive: the search then ends at once.
            limit = None if left is None else max(1e-3, left / (len(plan) - number))
            found = minimize_within(part, target, limit, rng=one, n_jobs=n_jobs)
            raise_if_interrupted(found)
            labels.append(found.labels)
            converged.append(found.converged)
            bar.show(number + 1, {"setting": name})
            stopper.check()
    finally:
        bar.close()
    rows = np.stack(labels)
    # Item-major, as draws are stored, for the functions that compare one partition with many.
    columns = np.ascontiguousarray(rows.T.astype(np.uint32))
    pairs = max(1, sample.n_items * (sample.n_items - 1) // 2)
    return Stability(
        settings=tuple(plan),
        labels=rows,
        n_clusters=rows.max(axis=1) + 1,
        expected_losses=np.array([sample.mean(draw_losses(row, sample, chosen)) for row in rows]),
        distances=loss_values(rows[0], columns, losses.get("vi")),
        # Binder's loss is the number of pairs of items on which two partitions disagree.
        agreement=1.0 - loss_values(rows[0], columns, losses.get("binder")) / pairs,
        loss=chosen,
        converged=np.array(converged),
    )


def _halves(draws: Draws) -> dict[str, Draws]:
    """The first and the second half of each chain; a half without any weight is left out."""
    # Chain by chain: a half of the whole sample would confuse drift within chains with differences
    # between them.
    first = np.zeros(draws.n_draws, dtype=np.bool_)
    for number in range(draws.n_chains):
        mine = np.flatnonzero(draws.chains == number)
        first[mine[: len(mine) // 2]] = True
    halves = {"first half": first, "second half": ~first}
    return {name: draws[rows] for name, rows in halves.items() if draws.draw_weights[rows].any()}
