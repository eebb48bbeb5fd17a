"""Mixture of Gaussian distributions, with means and variances integrated out.

    y_i | z_i = g ~ N(mu_g, 1 / r_g),
    mu_g | r_g ~ N(mean, 1 / (tau r_g)),    r_g ~ Gamma(shape gamma, rate delta)

A cluster with n items, sum s and sum of squares q of y - mean has the log marginal likelihood

    -(n/2) log(2 pi) + log(tau / (tau + n)) / 2 + gamma log delta
    - lgamma(gamma) + lgamma(gamma + n/2)
    - (gamma + n/2) log( delta + (q - s^2 / (n + tau)) / 2 )

and the log marginal likelihood of the partition is the sum over its clusters. With several coordinates
these are independent given the cluster, each with its own mean and variance (a diagonal covariance
matrix), and their terms add up. With one coordinate this is exactly the model of the paper. A predictive
probability costs O(coordinates), where a full covariance matrix costs their square and needs about as many
items as coordinates before it says anything. Rotate the data (principal components) if coordinates are
strongly correlated.

References
----------
Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186, section 6.1. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from epluribus._kernels.chain import Partition
from epluribus._kernels.gaussian import GaussianState
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_positive
from epluribus.models.base import Model, Side
from epluribus.models.prior import PartitionLaw, as_prior


class GaussianMixture(Model):
    """Mixture of Gaussian distributions with conjugate priors, one or several coordinates.

    Parameters
    ----------
    y : array_like of shape (n_items,) or (n_items, n_dims)
        The data, finite. They are not rescaled, and the prior depends on their unit: choose the unit, or
        `delta`, with care.
    alpha : float, default 4
        Concentration of the Dirichlet weights.
    tau : float, default 0.01
        Number of observations that the prior mean is worth: the smaller, the vaguer.
    gamma, delta : float, default 0.5
        Shape and rate of the Gamma prior of a precision; the rate has the unit of y^2.
    mean : float or array_like of shape (n_dims,), default 0
        Prior mean.
    prior : {'uniform', 'poisson', 'geometric', 'fixed'} or PartitionLaw, default 'uniform'
        Prior on the number of components; see `PartitionPrior`. Or a prior on partitions:
        `PartitionPrior`, `DirichletProcess`, `PitmanYor`.
    k_max : int, default 50
        Largest number of clusters.

    Notes
    -----
    A Gibbs update costs O(K n_dims) with K clusters. The defaults of `alpha`, `tau`, `gamma` and `delta` are
    those of the paper's example, the velocities of galaxies.

    Examples
    --------
    >>> from epluribus.models import GaussianMixture
    >>> model = GaussianMixture([0.1, -0.2, 0.0, 5.0, 5.3])
    >>> one, two = model.log_posterior([0] * 5), model.log_posterior([0, 0, 0, 1, 1])
    >>> bool(two > one)
    True
    """

    statistics = ("total", "square", "log_cluster")

    def __init__(
        self,
        y: ArrayLike,
        *,
        alpha: float | None = None,
        tau: float = 0.01,
        gamma: float = 0.5,
        delta: float = 0.5,
        mean: ArrayLike = 0.0,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        values = _check_values(y)
        self.tau = check_positive(tau, "tau")
        self.gamma = check_positive(gamma, "gamma")
        self.delta = check_positive(delta, "delta")
        self.mean = _check_mean(mean, values.shape[1])
        # Relative to the prior mean, which is then 0 in every formula.
        self.values: FloatArray = values - self.mean
        self.sides = (Side("items", len(values), as_prior(prior, alpha, k_max, 4.0)),)

    def _constant(self, n: AnyArray) -> FloatArray:
        """The terms of the log marginal likelihood of a cluster that depend on its size n alone."""
        per_coordinate = (
            -0.5 * n * np.log(2 * np.pi)
            # normalizing constants of the mean and of the precision, prior over posterior
            + 0.5 * np.log(self.tau / (self.tau + n))
            + self.gamma * np.log(self.delta)
            - gammaln(self.gamma)
            + gammaln(self.gamma + 0.5 * n)
        )
        # Coordinates are independent and have the same prior: their constants add up.
        return np.asarray(self.values.shape[1] * per_coordinate)

    def _log_likelihood(self, *labels: IntArray) -> float:
        total = 0.0
        for g in range(labels[0].max() + 1):
            y = self.values[labels[0] == g]
            n = len(y)
            # q - s^2/(n + tau) is a difference of large numbers if the mean is far from 0. The same without
            # cancellation: sum (y - ybar)^2 + tau n / (tau + n) ybar^2
            spread = ((y - y.mean(axis=0)) ** 2).sum(axis=0)
            spread = spread + self.tau * n / (self.tau + n) * y.mean(axis=0) ** 2
            # The last term of the formula, summed over coordinates.
            logs = np.log(self.delta + 0.5 * spread).sum()
            total += float(self._constant(np.array(n)) - (self.gamma + 0.5 * n) * logs)
        return total

    def states(self, partitions: Sequence[Partition]) -> tuple[GaussianState]:
        """One fresh state; see `Model.states`."""
        # All sizes that a cluster can have: what depends on n alone is looked up.
        n = np.arange(len(self.values) + 1)
        slots = partitions[0].sizes.size
        state = GaussianState(
            values=self.values,
            shape=self.gamma,
            rate=self.delta,
            inverse=np.asarray(1.0 / (n + self.tau), dtype=np.float64),
            constant=self._constant(n),
            total=np.zeros((slots, self.values.shape[1])),
            square=np.zeros((slots, self.values.shape[1])),
            log_cluster=np.zeros(slots),
        )
        return (state,)

    def _parameters(self) -> dict[str, Any]:
        settings = np.array([self.tau, self.gamma, self.delta])
        return {"values": self.values, "settings": settings}


def _check_values(y: ArrayLike) -> FloatArray:
    """(n_items, n_dims) the data, finite."""
    try:
        # In row-major order: Numba gives each order its own type, and would compile the moves again.
        values = np.array(y, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(f"'y' must be numbers, one row per item; {error}.") from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            "'y' must have shape (n_items,) or (n_items, n_dims), neither of them 0; got shape "
            f"{np.shape(y)}."
        )
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        i, d = bad[0]
        where = f"item {i}" if values.shape[1] == 1 else f"item {i}, coordinate {d}"
        raise ValueError(
            f"'y' must be finite; {where} (counted from 0) is {values[i, d]}. Leave such items out "
            "or impute them first."
        )
    return values


def _check_mean(mean: ArrayLike, n_dims: int) -> FloatArray:
    """(n_dims,) the prior mean of each coordinate."""
    values = np.asarray(mean, dtype=np.float64)
    if values.shape not in ((), (n_dims,)) or not np.isfinite(values).all():
        raise ValueError(
            f"'mean' must be one finite number or one for each of the {n_dims} coordinates; got "
            f"{mean!r}."
        )
    return np.broadcast_to(values, (n_dims,)).copy()
