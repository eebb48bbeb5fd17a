"""How sure an answer is."""

from epluribus.uncertainty.ball import CredibleBall, credible_ball
from epluribus.uncertainty.items import ClusterTable, ItemTable, clusters, items
from epluribus.uncertainty.n_clusters import NClusters, n_clusters_posterior
from epluribus.uncertainty.psm import psm

__all__ = [
    "ClusterTable",
    "CredibleBall",
    "ItemTable",
    "NClusters",
    "clusters",
    "credible_ball",
    "items",
    "n_clusters_posterior",
    "psm",
]
