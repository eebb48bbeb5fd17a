"""How sure an answer is."""

from epluribus.uncertainty.ball import CredibleBall, credible_ball
from epluribus.uncertainty.certificate import Certificate, certificate
from epluribus.uncertainty.error import Difference, MonteCarloError, compare, error
from epluribus.uncertainty.items import ClusterTable, ItemTable, clusters, items
from epluribus.uncertainty.n_clusters import NClusters, n_clusters_posterior
from epluribus.uncertainty.psm import psm

__all__ = [
    "Certificate",
    "ClusterTable",
    "CredibleBall",
    "Difference",
    "ItemTable",
    "MonteCarloError",
    "NClusters",
    "certificate",
    "clusters",
    "compare",
    "credible_ball",
    "error",
    "items",
    "n_clusters_posterior",
    "psm",
]
