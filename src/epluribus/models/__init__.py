"""Models: the posterior of a partition up to a constant, and priors on partitions."""

from epluribus.models.base import Model
from epluribus.models.custom import CustomModel
from epluribus.models.edges import read_edges
from epluribus.models.gaussian import GaussianMixture
from epluribus.models.mixtures import (
    BernoulliMixture,
    CategoricalMixture,
    Mixture,
    PoissonMixture,
)
from epluribus.models.networks import LatentBlockModel, PoissonBlockModel, StochasticBlockModel
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
