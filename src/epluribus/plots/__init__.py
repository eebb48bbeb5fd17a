"""Pictures of partitions, draws and data.

Each function draws into `ax`, or into a new figure, and returns the Axes; those with several panels take
and return an array `axes`. They need matplotlib: ``pip install "epluribus[plots]"``.
"""

from epluribus.plots._compare import alluvial, contingency
from epluribus.plots._data import histogram, pairs, scatter
from epluribus.plots._draws import calibration, loss_trace, n_clusters, plausibility
from epluribus.plots._maps import item_map, partition_map
from epluribus.plots._matrices import block_rates, blocks, similarity
from epluribus.plots._network import network
from epluribus.plots._uncertainty import ball_bounds, certainty, undecided, undecided_costs

__all__ = [
    "alluvial", "ball_bounds", "block_rates", "blocks", "calibration", "certainty", "contingency",
    "histogram", "item_map", "loss_trace", "n_clusters", "network", "pairs",
    "partition_map", "plausibility", "scatter", "similarity", "undecided", "undecided_costs",
]  # fmt: skip
