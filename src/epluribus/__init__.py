"""epluribus: one optimal partition out of many posterior draws of cluster labels."""

from epluribus import datasets, losses, partition, search, uncertainty
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.expected import expected_loss, loss
from epluribus.search import exact, greedy, minimize

__version__ = "0.1.0"

__all__ = [
    "Draws",
    "Estimate",
    "Loss",
    "__version__",
    "datasets",
    "exact",
    "expected_loss",
    "greedy",
    "loss",
    "losses",
    "minimize",
    "partition",
    "search",
    "uncertainty",
]
