"""Pictures of partitions, draws and data.

Each function draws into `ax`, or into a new figure, and returns the Axes; those with several panels take
and return an array `axes`. They need matplotlib: ``pip install "epluribus[plots]"``.
"""

from epluribus.plots._compare import alluvial
from epluribus.plots._data import histogram, pairs, scatter
from epluribus.plots._draws import loss_trace, n_clusters, partition_map, plausibility
from epluribus.plots._matrices import blocks, similarity
from epluribus.plots._network import network
from epluribus.plots._uncertainty import ball_bounds, certainty, undecided

__all__ = [
    "alluvial", "ball_bounds", "blocks", "certainty", "histogram", "loss_trace", "n_clusters",
    "network", "pairs", "partition_map", "plausibility", "scatter", "similarity", "undecided",
]  # fmt: skip
