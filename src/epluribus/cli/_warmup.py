"""The command that compiles beforehand what usual work needs."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

import epluribus as epl
from epluribus._kernels.sweep import sweep
from epluribus._typing import IntArray
from epluribus.cli._base import command
from epluribus.estimate import raise_if_interrupted
from epluribus.models import (
    GaussianMixture,
    LatentBlockModel,
    PoissonBlockModel,
    StochasticBlockModel,
)

_N_ITEMS, _N_DRAWS = 60, 600
"""Small, but large enough that the search does all that it does with usual samples."""
_MANY = 66_000
"""Items of which a few are searched first, and which two bytes cannot count."""


@command("compile what usual work needs, so that first calls are quick")
def warmup(args: Namespace) -> None:  # noqa: ARG001 - the same argument for all commands
    """Compile beforehand what usual work needs: searches, also for very many items, and samplers.

    Without it, the first call of each kind compiles what it needs, once; later calls find it on disk. Useful
    after an installation or an upgrade, and where many processes start at the same time.

    Example: epluribus warmup
    """
    rng = np.random.default_rng(1)
    z = _noisy(_N_DRAWS, _N_ITEMS, rng)
    for loss in ("vi", "binder", "nvi"):
        print(f"search: {loss}", flush=True)
        raise_if_interrupted(epl.minimize(z, loss, rng=1))
    z = _noisy(_N_DRAWS, _MANY, rng)
    for loss in ("vi", "binder"):
        print(f"search: {loss}, very many items", flush=True)
        raise_if_interrupted(epl.minimize(z, loss, rng=1))
    network = np.triu(rng.random((_N_ITEMS, _N_ITEMS)) < 0.2, 1).astype(np.int64)
    models = {
        "gaussian": GaussianMixture(rng.normal(size=_N_ITEMS)),
        "gaussian, several columns": GaussianMixture(rng.normal(size=(_N_ITEMS, 2))),
        "sbm": StochasticBlockModel(network + network.T),
        "sbm, directed": StochasticBlockModel(network, directed=True),
        "dcsbm": PoissonBlockModel(network + network.T, degree_corrected=True),
        "lbm": LatentBlockModel(network),
    }
    for name, model in models.items():
        print(f"sampler: {name}", flush=True)
        raise_if_interrupted(epl.sample(model, n_draws=2, n_chains=1, rng=1))
    folder = sweep.stats.cache_path if hasattr(sweep, "stats") else None
    if folder:
        print(f"compiled code is kept in {folder}")
    else:
        print(
            "compiled code cannot be kept: no folder is writable. Name one by the environment variable "
            "NUMBA_CACHE_DIR."
        )


def _noisy(n_draws: int, n_items: int, rng: np.random.Generator) -> IntArray:
    """Draws around a partition into four clusters."""
    truth, noisy = rng.integers(4, size=n_items), rng.random((n_draws, n_items)) < 0.3
    return np.where(noisy, rng.integers(4, size=noisy.shape), truth)
