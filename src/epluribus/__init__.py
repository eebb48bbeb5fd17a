"""epluribus: one optimal partition out of many posterior draws of cluster labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from epluribus import losses, partition, search
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.expected import expected_loss, loss
from epluribus.search import exact, greedy, minimize

if TYPE_CHECKING:
    from epluribus import datasets, models, plots, studies, uncertainty
    from epluribus.consensus import ConsensusClustering as ConsensusClustering
    from epluribus.io.read import read_draws
    from epluribus.io.saved import load
    from epluribus.sampling import sample
    from epluribus.soft import soft_draws, soft_psm
    from epluribus.uncertainty.align import align
    from epluribus.uncertainty.ball import credible_ball
    from epluribus.uncertainty.certificate import certificate
    from epluribus.uncertainty.modes import modes
    from epluribus.uncertainty.psm import psm
    from epluribus.uncertainty.stability import stability

__version__ = "0.1.0"

__all__ = [
    "Draws",
    "Estimate",
    "Loss",
    "__version__",
    "align",
    "certificate",
    "credible_ball",
    "datasets",
    "exact",
    "expected_loss",
    "greedy",
    "load",
    "loss",
    "losses",
    "minimize",
    "models",
    "modes",
    "partition",
    "plots",
    "psm",
    "read_draws",
    "sample",
    "search",
    "soft_draws",
    "soft_psm",
    "stability",
    "studies",
    "uncertainty",
]

# Loaded when first used, so that `import epluribus` stays quick (SPEC 1). What needs an extra to be
# defined at all is not in `__all__`: `from epluribus import *` must work without.
_ON_DEMAND = {
    "ConsensusClustering": "epluribus.consensus",
    "datasets": "epluribus.datasets",
    "load": "epluribus.io.saved",
    "models": "epluribus.models",
    "plots": "epluribus.plots",
    "read_draws": "epluribus.io.read",
    "sample": "epluribus.sampling",
    "uncertainty": "epluribus.uncertainty",
    **dict.fromkeys(
        ("align", "certificate", "credible_ball", "modes", "psm", "stability"),
        "epluribus.uncertainty",
    ),
    "soft_draws": "epluribus.soft",
    "soft_psm": "epluribus.soft",
    "studies": "epluribus.studies",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module 'epluribus' has no attribute '{name}'")
    module = import_module(_ON_DEMAND[name])
    value = module if module.__name__ == f"epluribus.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_ON_DEMAND})
