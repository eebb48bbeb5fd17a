"""How sure an answer is."""

from epluribus.uncertainty.align import Alignment, ParameterSummary, align
from epluribus.uncertainty.ball import CredibleBall, credible_ball
from epluribus.uncertainty.certificate import Certificate, certificate
from epluribus.uncertainty.error import Difference, MonteCarloError, compare, error
from epluribus.uncertainty.items import ClusterTable, ItemTable, clusters, items
from epluribus.uncertainty.modes import Modes, modes
from epluribus.uncertainty.n_clusters import NClusters, n_clusters_posterior
from epluribus.uncertainty.psm import psm
from epluribus.uncertainty.stability import Stability, stability

__all__ = [
    "Alignment",
    "Certificate",
    "ClusterTable",
    "CredibleBall",
    "Difference",
    "ItemTable",
    "Modes",
    "MonteCarloError",
    "NClusters",
    "ParameterSummary",
    "Stability",
    "align",
    "certificate",
    "clusters",
    "compare",
    "credible_ball",
    "error",
    "items",
    "modes",
    "n_clusters_posterior",
    "psm",
    "stability",
]
