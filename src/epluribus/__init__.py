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
    from epluribus import datasets, models, plots, studies
    from epluribus.sampling import sample

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
    "models",
    "partition",
    "plots",
    "sample",
    "search",
    "studies",
]

# Loaded when first used, so that `import epluribus` stays quick (SPEC 1).
_ON_DEMAND = {
    "datasets": "epluribus.datasets",
    "models": "epluribus.models",
    "plots": "epluribus.plots",
    "sample": "epluribus.sampling",
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
    return sorted(__all__)
