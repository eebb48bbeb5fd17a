"""Draws in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epluribus._text import count, percent, span

if TYPE_CHECKING:
    from epluribus.draws.draws import Draws


def describe(draws: Draws) -> str:
    """The numbers of draws, items, distinct partitions, clusters and chains."""
    low, high = int(draws.distinct_n_clusters.min()), int(draws.distinct_n_clusters.max())
    # Total weight of the partitions with each number of clusters.
    mass = np.bincount(draws.distinct_n_clusters, weights=draws.weights)
    often = "" if low == high else f", most often {int(mass.argmax())}"
    one = "draw" if draws.kind == "posterior" else "clustering"
    lines = [
        f"{count(draws.n_draws, one)} of {count(draws.n_items, 'item')}",
        f"  distinct partitions  {draws.n_distinct:,}",
        f"  clusters in {'a draw  ' if one == 'draw' else 'each    '} {span(low, high)}{often}",
    ]
    if draws.kind == "posterior":
        lines[0] = f"{count(draws.n_draws, one)} of a partition of {count(draws.n_items, 'item')}"
        lines.append(f"  chains               {draws.n_chains}")
    if draws.has_missing:
        share = 1.0 - float(draws.n_seen.mean()) / draws.n_items
        seen = span(int(draws.n_seen.min()), int(draws.n_seen.max()))
        lines.append(f"  missing labels       {percent(share)}; a {one} has seen {seen} items")
    if draws.variable is not None:
        lines.append(f"  variable             {draws.variable}")
    if not np.all(draws.draw_weights == 1.0):
        lines.append(f"  sum of weights       {draws.total_weight:.6g}")
    return "\n".join(lines)
