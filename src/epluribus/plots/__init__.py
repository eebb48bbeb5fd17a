"""Pictures. Each function draws into `ax` or a new figure and returns the Axes; needs matplotlib."""

from epluribus.plots.alluvial import alluvial
from epluribus.plots.ball_bounds import ball_bounds
from epluribus.plots.blocks import blocks
from epluribus.plots.certainty import certainty
from epluribus.plots.contingency import contingency
from epluribus.plots.histogram import histogram
from epluribus.plots.loss_trace import loss_trace
from epluribus.plots.n_clusters import n_clusters
from epluribus.plots.network import network
from epluribus.plots.pairs import pairs
from epluribus.plots.partition_map import partition_map
from epluribus.plots.scatter import scatter
from epluribus.plots.similarity import similarity

__all__ = [
    "alluvial",
    "ball_bounds",
    "blocks",
    "certainty",
    "contingency",
    "histogram",
    "loss_trace",
    "n_clusters",
    "network",
    "pairs",
    "partition_map",
    "scatter",
    "similarity",
]
