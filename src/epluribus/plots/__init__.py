"""Pictures of partitions, draws and data.

Each function draws into `ax`, or into a new figure, and returns the Axes; those with several panels take
and return an array `axes`. They need matplotlib: ``pip install "epluribus[plots]"``.
"""

from collections.abc import Callable
from typing import Any

from epluribus.plots._data import histogram, pairs, scatter
from epluribus.plots._draws import alluvial, loss_trace, n_clusters, partition_map, plausibility
from epluribus.plots._network import blocks, network
from epluribus.plots._uncertainty import ball_bounds, certainty, similarity
from epluribus.uncertainty import credible_ball

__all__ = [
    "alluvial", "ball_bounds", "blocks", "certainty", "histogram", "loss_trace", "n_clusters",
    "network", "pairs", "partition_map", "plausibility", "scatter", "similarity",
]  # fmt: skip

KINDS: dict[str, tuple[Callable[..., Any], str]] = {
    "similarity": (similarity, "draws"),
    "certainty": (certainty, "draws"),
    "n_clusters": (n_clusters, "draws"),
    "loss_trace": (loss_trace, "draws"),
    "partition_map": (partition_map, "draws"),
    "ball_bounds": (lambda best, draws: ball_bounds(credible_ball(best, draws)), "draws"),
    "histogram": (histogram, "data"),
    "scatter": (scatter, "data"),
    "pairs": (pairs, "data"),
    "network": (network, "network"),
    "blocks": (blocks, "network"),
}
"""What the command line draws, by name: a function of the estimate and a second thing, and what this is."""


def __dir__() -> list[str]:
    """What the tab key offers."""
    return __all__
