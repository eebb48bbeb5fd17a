"""Pictures of partitions, draws and data.

Each function draws into `ax`, or into a new figure, and returns the Axes; those with several panels take
and return an array `axes`. They need matplotlib: ``pip install "epluribus[plots]"``.
"""

from epluribus.plots._calibration import calibration
from epluribus.plots._data import histogram, pairs, scatter
from epluribus.plots._dendrogram import dendrogram
from epluribus.plots._draws import loss_trace, n_clusters
from epluribus.plots._item_map import item_map
from epluribus.plots._matrices import blocks, similarity
from epluribus.plots._network import network
from epluribus.plots._partition_map import partition_map
from epluribus.plots._rates import block_rates
from epluribus.plots._two_partitions import alluvial, contingency
from epluribus.plots._uncertainty import ball_bounds, certainty
from epluribus.plots._undecided import undecided, undecided_costs

__all__ = [
    "alluvial", "ball_bounds", "block_rates", "blocks", "calibration", "certainty", "contingency",
    "dendrogram", "histogram", "item_map", "loss_trace", "n_clusters", "network", "pairs",
    "partition_map", "scatter", "similarity", "undecided", "undecided_costs",
]  # fmt: skip
