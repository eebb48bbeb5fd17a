"""Estimates for several losses, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from epluribus._cards import Card, Shown, Table
from epluribus._typing import FloatArray, IntArray
from epluribus.changes import EQUAL, what_differs
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses, matrix_loss
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.values import loss


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Shown):
    """One estimate per loss, and how they relate."""

    estimates: tuple[Estimate, ...]
    """The estimates; a name or a number picks one: ``comparison["vi"]``."""
    expected_losses: FloatArray
    """Entry (i, j): expected loss of the estimate made for loss i, under loss j."""
    distances: FloatArray
    """Entry (i, j): variation of information between estimates i and j, in bits."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the losses."""
        return tuple(estimate.loss.name for estimate in self.estimates)

    @property
    def changes(self) -> list[str]:
        """For each estimate but the first, how it differs from the first, in words."""
        first = self.estimates[0]
        return [
            what_differs(
                first.labels, one.labels, names=one.items, other=f"that for {one.loss.name}"
            )
            for one in self.estimates[1:]
        ]

    def __getitem__(self, name: str | int) -> Estimate:
        # By the name of its loss or by its place.
        return self.estimates[self.names.index(name) if isinstance(name, str) else name]

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.names)})"

    def _card(self) -> Card:
        def columns(form: str, values: FloatArray, before: str = "") -> dict[str, list[str]]:
            named = zip(self.names, values.T.tolist(), strict=True)
            return {before + name: [format(value, form) for value in each] for name, each in named}

        # Column j of the matrix is a column of the table: all estimates under loss j. Small distances in the
        # second table mean that the choice of the loss matters little.
        names, clusters = list(self.names), [estimate.n_clusters for estimate in self]
        expected = columns(".6g", self.expected_losses, "E ")
        return Card(
            "",
            Table(
                {"estimate for": names, "clusters": clusters, **expected},
                "E: expected loss under each loss",
            ),
            Table({"bits of VI between": names, **columns(".4f", self.distances)}),
            *(f"{text[0].upper()}{text[1:]}." for text in self.changes if text != EQUAL),
            heading=f"Estimates for {len(self)} losses",
            indent="",
        )


def set_side_by_side(sample: Draws | SimilarityMatrix, estimates: Sequence[Estimate]) -> Comparison:
    """Every estimate under every loss, and the distance between every two estimates."""

    def expected(labels: IntArray, one: Loss) -> float:
        if isinstance(sample, SimilarityMatrix):
            return matrix_loss(labels, sample.matrix, one)
        return sample.mean(draw_losses(labels, sample, one))

    # Row a, column b: loss b of estimate a. VI is a metric, whatever losses the estimates are for.
    values = [[expected(a.labels, b.loss) for b in estimates] for a in estimates]
    distances = [[loss(a.labels, b.labels, "vi") for b in estimates] for a in estimates]
    return Comparison(tuple(estimates), np.array(values), np.array(distances))
