"""Draws in a few facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epluribus._cards import Card, Facts
from epluribus._text import count, percent, span

if TYPE_CHECKING:
    from epluribus.draws.draws import Draws


def describe(draws: Draws) -> Card:
    """The numbers of draws, items, distinct partitions, clusters and chains."""
    low, high = int(draws.distinct_n_clusters.min()), int(draws.distinct_n_clusters.max())
    # Total weight of the partitions with each number of clusters.
    mass = np.bincount(draws.distinct_n_clusters, weights=draws.weights)
    often = "" if low == high else f", most often {int(mass.argmax())}"
    items = count(draws.n_items, "item")
    if draws.kind == "posterior":
        one, each = "draw", "a draw"
        title = f"{count(draws.n_draws, one)} of a partition of {items}"
    else:
        one, each = "clustering", "each"
        title = f"{count(draws.n_draws, one)} of {items}"
    facts = {
        "distinct partitions": f"{draws.n_distinct:,}",
        f"clusters in {each}": f"{span(low, high)}{often}",
    }
    if draws.kind == "posterior":
        facts["chains"] = f"{draws.n_chains}"
    if draws.has_missing:
        share = 1.0 - float(draws.n_seen.mean()) / draws.n_items
        seen = span(int(draws.n_seen.min()), int(draws.n_seen.max()))
        facts["missing labels"] = f"{percent(share)}; a {one} has seen {seen} items"
    if draws.variable is not None:
        facts["variable"] = draws.variable
    if not np.all(draws.draw_weights == 1.0):
        facts["sum of weights"] = f"{draws.total_weight:.6g}"
    return Card(title, Facts(facts))
