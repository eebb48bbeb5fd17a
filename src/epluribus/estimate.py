"""The answer of a search, the settings it was asked for, and the runs that led to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus import losses
from epluribus._cards import Alert, Card, Facts, Part, Shown
from epluribus._text import count, few_of
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike
from epluribus.draws import Draws, as_draws
from epluribus.losses.base import Loss
from epluribus.partition import by_size, matched
from epluribus.settings import Settings

if TYPE_CHECKING:
    from epluribus.sampling.trace import Trace
    from epluribus.uncertainty import Health

__all__ = ["Estimate", "Run", "Step", "raise_if_interrupted", "read_best"]


@dataclass(frozen=True)
class Step:
    """Expected loss and number of clusters at the start of a run, or after one sweep over the items."""

    expected_loss: float
    n_clusters: int


@dataclass(frozen=True)
class Run:
    """One run of the search, from one start."""

    labels: IntArray = field(repr=False)
    """Canonical labels of the partition it ended with."""
    expected_loss: float
    n_clusters: int
    start: str
    """Kind of partition it started from."""
    trace: tuple[Step, ...] = field(repr=False)
    """The search at the start and after each sweep."""
    converged: bool
    """Whether the last sweep changed nothing."""
    seconds: float
    n_draws: int
    """Number of draws behind its losses: the search looks at some of many draws first."""

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps over the items."""
        # The first entry of the trace is the start.
        return len(self.trace) - 1


@dataclass(frozen=True, repr=False, eq=False)
class Estimate(Shown):
    """A partition with small expected posterior loss, as found by a search.

    Attributes
    ----------
    labels : ndarray of shape (n_items,)
        Cluster of each item: 0, 1, ... by size, 0 the largest, ties by their first items; -1 for an
        undecided item.
    expected_loss : float
        Weighted mean over the draws of the loss between it and each draw; of decided items alone, if
        some are not.
    n_clusters : int
        Number of clusters.
    sizes : ndarray of shape (n_clusters,)
        Cluster sizes, the largest first.
    loss : Loss
        The loss it was found for.
    n_draws : int
        Number of draws behind the expectation; 0 for a similarity matrix.
    runs : tuple of Run
        The runs of the search, in the order they were planned.
    converged : bool
        False if a time limit or an interrupt ended the search early.
    seconds : float
        Time of the search; the first call in a fresh installation includes compilation.
    items : tuple of str or None
        Names of the items, if the draws have them.
    interrupted : bool
        Whether Ctrl-C ended the search.
    settings : Settings
        What the search was asked for: bounds on the number of clusters, kind of search.
    dimension : str or None
        Name of the dimension of the items, if the draws come from labeled arrays.
    kind : str
        What the draws are: "posterior" or "ensemble".
    """

    labels: IntArray
    expected_loss: float
    loss: Loss
    n_draws: int
    runs: tuple[Run, ...]
    converged: bool
    seconds: float
    items: tuple[str, ...] | None = None
    interrupted: bool = False
    settings: Settings = field(default_factory=Settings)
    dimension: str | None = None
    kind: str = "posterior"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1  # the numbers have no gaps

    @property
    def sizes(self) -> IntArray:
        """Cluster sizes, the largest first."""
        return np.bincount(self.labels[self.labels >= 0])

    @property
    def undecided(self) -> IntArray:
        """Numbers of the undecided items, which are in no cluster; empty unless they were allowed."""
        return np.flatnonzero(self.labels < 0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The labels: NumPy and scikit-learn take an estimate where they take labels."""
        return np.array(self.labels, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[int]:
        """The labels, one by one: pandas takes an estimate where it takes a list."""
        return iter(self.labels.tolist())

    def decided(self, draws: DrawsLike) -> tuple[Estimate, Draws]:
        """The estimate and its draws for the decided items only, for the functions that take both."""
        sample = as_draws(draws)
        labels = matched(self, sample, missing=True)
        inside = np.flatnonzero(labels >= 0)
        part = sample.select_items(inside)
        settings = replace(self.settings, constraints=None, undecided=None)
        new = replace(self, labels=labels[inside], items=part.items, settings=settings, runs=())
        return new, part

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; labels and traces of the single runs are left out."""
        # Imported when called, here and below: they are built on this module.
        from epluribus.writers import to_dict

        return to_dict(self)

    def health(self, draws: DrawsLike) -> Health:
        """Whether the answer can be trusted, in at most three lines: chains, doubtful items, modes.

        Parameters
        ----------
        draws : Draws or array_like of shape (n_draws, n_items)
            The draws behind the estimate.

        Examples
        --------
        >>> import epluribus as epl
        >>> draws = [[0, 0, 1], [0, 0, 1], [0, 1, 1]]
        >>> print(epl.minimize(draws, rng=1).health(draws))
        chains  one chain: whether another would agree is not known
        items   none doubtful (lowest support 0.67)
        modes   cannot be known: these draws are worth only 3 independent ones
        """
        from epluribus.uncertainty import health

        return health(self, draws)

    def to_json(self) -> str:
        """JSON text of the whole estimate, as `save` writes it."""
        from epluribus.writers import to_json

        return to_json(self)

    def save(self, path: str | Path) -> None:
        """Save as json; `load` reads it back."""
        from epluribus.writers import save

        save(self, path)

    def to_pandas(self, certainty: ArrayLike | Draws | None = None) -> Any:
        """A pandas frame indexed by item, with the cluster and, if given, the certainty: for `df.join`.

        Parameters
        ----------
        certainty : Draws or array_like of shape (n_items,), optional
            The draws behind the estimate, to compute the support of each item in them (see
            `uncertainty.items`), or your own numbers.

        Examples
        --------
        >>> import epluribus as epl
        >>> import pandas as pd
        >>> draws = epl.Draws([[0, 0, 1], [0, 0, 1], [0, 1, 1]], items=["ann", "bob", "cy"])
        >>> people = pd.DataFrame({"age": [25, 31, 40]}, index=["cy", "bob", "ann"])
        >>> people.join(epl.minimize(draws).to_pandas(certainty=draws))
             age  cluster  certainty
        cy    25        1   0.666667
        bob   31        0   0.666667
        ann   40        0   0.666667
        """
        from epluribus.writers import to_pandas

        return to_pandas(self, certainty)

    def to_xarray(self, certainty: ArrayLike | Draws | None = None) -> Any:
        """An xarray Dataset: labels and certainty by item, size by cluster, the rest attributes.

        `certainty` is as for `to_pandas`. The dimension of the items has the name that it has in the arrays
        the draws come from, else "item". With ``data["epluribus"] = xarray.DataTree(best.to_xarray())`` an ArviZ
        object gets it as a group.

        Examples
        --------
        >>> import epluribus as epl
        >>> data = epl.minimize([[0, 0, 1], [0, 0, 1]]).to_xarray()
        >>> data["size"].values.tolist(), data.attrs["loss"]
        ([2, 1], 'vi')
        """
        from epluribus.writers import to_xarray

        return to_xarray(self, certainty)

    def write_labels(self, path: str | Path, certainty: ArrayLike | Draws | None = None) -> None:
        """Write the labels as csv or parquet (item, cluster, certainty), txt, npy or json.

        Parameters
        ----------
        path : str or Path
            The file; its ending chooses the format.
        certainty : Draws or array_like of shape (n_items,), optional
            As for `to_pandas`. Only csv and parquet have a column for it.
        """
        from epluribus.writers import write_estimate

        write_estimate(Path(path), self, certainty)

    def __repr__(self) -> str:
        found = f"n_clusters={self.n_clusters}, expected_loss={self.expected_loss:.6g}"
        return f"Estimate({found}, loss={self.loss.name!r})"

    def _card(self, health: Mapping[str, str] | None = None) -> Card:
        # Printing computes nothing: the checks are what to ask next, unless they are known.
        ensemble = self.kind == "ensemble"
        source = count(self.n_draws, "clustering" if ensemble else "draw")
        facts = {
            "sizes": few_of(self.sizes.tolist()),
            "mean loss" if ensemble else "expected loss": self.loss.with_unit(
                f"{self.expected_loss:.6g}"
            )
            + f" ({self.loss.name}, {source if self.n_draws else 'similarity matrix'})",
            **self.settings.facts(len(self.undecided)),
        }
        if self.runs:  # partitions of few items are found without any
            facts["search"] = count(len(self.runs), "run")
        if health is not None:
            facts |= health
        elif self.n_draws:
            facts["ask next"] = "best.health(draws), epl.items(best, draws)"
            facts["ask next"] += "" if ensemble else ", epl.credible_ball(best, draws)"
        stopped: Part = (
            "" if self.converged else Alert("stopped early: a longer search may find better")
        )
        title = f"{count(self.n_clusters, 'cluster')} of {count(len(self.labels), 'item')}"
        return Card(title, Facts(facts), stopped)


def read_best(
    best: Estimate | LabelsLike, draws: DrawsLike, loss: LossLike | None, argument: str = "best"
) -> tuple[IntArray, Draws, Loss]:
    """Labels of `best`, numbered by size and checked against the draws, the draws as `Draws`, and the loss.

    Without `loss`, it is the one that an Estimate was made for; for labels alone it is VI.
    """
    posterior = as_draws(draws)
    # The draws come first: only they say how many labels there must be.
    labels = matched(best, posterior, argument)
    if not isinstance(best, Estimate):
        labels = by_size(labels)
    elif best.kind != posterior.kind and not isinstance(draws, Draws):  # arrays do not say it
        posterior = Draws(posterior, kind=best.kind)
    if loss is None:
        loss = best.loss if isinstance(best, Estimate) else "vi"
        if isinstance(loss, Loss) and loss.family == "vi_lb":  # draws have VI itself
            loss = losses.vi(loss.parameters["cost"])
    return labels, posterior, losses.get(loss)


def raise_if_interrupted(*found: Estimate | Trace) -> None:
    """Raise the Ctrl-C that ended a search or a sampling run early, where the best so far is of no use."""
    # Searches and samplers do not raise it: they return what they have, and a caller decides.
    if any(result.interrupted for result in found):
        raise KeyboardInterrupt
