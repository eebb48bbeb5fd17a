"""Models: the posterior of a partition up to a constant, and priors on partitions."""

from epluribus.models.base import Model
from epluribus.models.block_models import (
    LatentBlockModel,
    PoissonBlockModel,
    StochasticBlockModel,
)
from epluribus.models.columns import BernoulliMixture, CategoricalMixture, PoissonMixture
from epluribus.models.custom import CustomModel
from epluribus.models.edge_files import read_edges
from epluribus.models.gaussian import GaussianMixture
from epluribus.models.mixture import Mixture
from epluribus.models.prior import DirichletProcess, PartitionPrior, PitmanYor

__all__ = [
    "BernoulliMixture",
    "CategoricalMixture",
    "CustomModel",
    "DirichletProcess",
    "GaussianMixture",
    "LatentBlockModel",
    "Mixture",
    "Model",
    "PartitionPrior",
    "PitmanYor",
    "PoissonBlockModel",
    "PoissonMixture",
    "StochasticBlockModel",
    "read_edges",
]
