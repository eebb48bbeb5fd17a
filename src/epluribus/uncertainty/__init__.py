"""How sure an answer is: every function here takes posterior draws and, mostly, an estimate."""

from epluribus.uncertainty._align import Alignment, ParameterSummary, align
from epluribus.uncertainty._ball import CredibleBall, NClusters, credible_ball, n_clusters_posterior
from epluribus.uncertainty._certificate import Certificate, certificate
from epluribus.uncertainty._error import Difference, MonteCarloError, compare, error
from epluribus.uncertainty._health import Health, health
from epluribus.uncertainty._items import ClusterTable, ItemTable, clusters, items
from epluribus.uncertainty._matrix import psm
from epluribus.uncertainty._modes import Modes, modes
from epluribus.uncertainty._stability import Stability, stability

__all__ = [
    "Alignment", "Certificate", "ClusterTable", "CredibleBall", "Difference", "Health", "ItemTable",
    "Modes", "MonteCarloError", "NClusters", "ParameterSummary", "Stability",
    "align", "certificate", "clusters", "compare", "credible_ball", "error", "health", "items",
    "modes", "n_clusters_posterior", "psm", "stability",
]  # fmt: skip
