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
    from epluribus import datasets, models, plots, uncertainty
    from epluribus.sampling import sample
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
    "loss",
    "losses",
    "minimize",
    "models",
    "modes",
    "partition",
    "plots",
    "psm",
    "sample",
    "search",
    "stability",
    "uncertainty",
]

# Loaded when first used, so that `import epluribus` stays quick (SPEC 1).
_ON_DEMAND = {
    "datasets": "epluribus.datasets",
    "models": "epluribus.models",
    "plots": "epluribus.plots",
    "sample": "epluribus.sampling",
    "uncertainty": "epluribus.uncertainty",
    **dict.fromkeys(
        ("align", "certificate", "credible_ball", "modes", "psm", "stability"),
        "epluribus.uncertainty",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module 'epluribus' has no attribute '{name}'")
    module = import_module(_ON_DEMAND[name])
    value = module if module.__name__ == f"epluribus.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
