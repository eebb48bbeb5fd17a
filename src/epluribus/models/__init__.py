"""What the posterior of a partition is, up to a constant: one file a model, and the priors."""

from epluribus.models.base import Model
from epluribus.models.custom import CustomModel
from epluribus.models.gaussian import GaussianMixture
from epluribus.models.lbm import LatentBlockModel
from epluribus.models.prior import DirichletProcess, PartitionPrior, PitmanYor
from epluribus.models.sbm import StochasticBlockModel

__all__ = [
    "CustomModel",
    "DirichletProcess",
    "GaussianMixture",
    "LatentBlockModel",
    "Model",
    "PartitionPrior",
    "PitmanYor",
    "StochasticBlockModel",
]
