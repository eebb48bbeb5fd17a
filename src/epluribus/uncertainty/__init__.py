"""How sure an answer is: every function here takes posterior draws and, mostly, an estimate."""

from epluribus.uncertainty._ball import CredibleBall, NClusters, credible_ball, n_clusters_posterior
from epluribus.uncertainty._certificate import Certificate, certificate
from epluribus.uncertainty._checks import PredictiveCheck, predictive_check
from epluribus.uncertainty._error import Difference, MonteCarloError, compare, error
from epluribus.uncertainty._health import Health, health
from epluribus.uncertainty._items import ClusterTable, ItemTable, LeftOut, clusters, items, left_out
from epluribus.uncertainty._matrix import psm
from epluribus.uncertainty._modes import Modes, modes
from epluribus.uncertainty._parameters import ClusterParameters, cluster_parameters
from epluribus.uncertainty._plausibility import (
    CredibleSet,
    Plausibility,
    credible_set,
    plausibility,
)
from epluribus.uncertainty._predict import Prediction, predict
from epluribus.uncertainty._stability import Stability, stability
from epluribus.uncertainty._statement import (
    Chips,
    PartialPartition,
    Probability,
    chips,
    probability,
)

__all__ = [
    "Certificate", "Chips", "ClusterParameters", "ClusterTable", "CredibleBall", "CredibleSet", "Difference",
    "Health", "ItemTable", "LeftOut", "Modes", "MonteCarloError", "NClusters", "PartialPartition", "Plausibility",
    "Prediction", "PredictiveCheck", "Probability", "Stability", "certificate", "chips", "cluster_parameters",
    "clusters", "compare", "credible_ball", "credible_set", "error", "health", "items", "left_out", "modes",
    "n_clusters_posterior", "plausibility", "predict", "predictive_check", "probability", "psm", "stability",
]  # fmt: skip
