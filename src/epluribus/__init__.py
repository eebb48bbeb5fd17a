"""epluribus: one optimal partition out of many posterior draws of cluster labels.

    draws = Draws(z)           # (n_draws, n_items) labels, or the output of a sampler
    best = minimize(draws)     # the partition with the smallest expected loss
    best.labels

`credible_ball`, `items`, `modes` and the rest of `uncertainty` say how sure the answer is, `plots` shows it,
`report` writes a page about it, and `methods` a paragraph for a paper. The modules `changes`, `draws`, `partition` and
`studies`, which are not listed, hold what few users need; the reference documents that, too. All else is internal.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from epluribus._version import __version__

# Type checkers and editors see these imports; at run time `__getattr__` below makes them.
if TYPE_CHECKING:
    from epluribus import datasets, losses, models, plots, sampling, search, uncertainty
    from epluribus.constraints import Constraints
    from epluribus.draws import Draws, read_draws, soft_draws
    from epluribus.draws.expected import expected_loss
    from epluribus.estimate import Estimate
    from epluribus.losses.base import Loss
    from epluribus.losses.values import loss
    from epluribus.page import methods, report
    from epluribus.sampling import sample
    from epluribus.search import minimize, minimize_all
    from epluribus.search.consensus import ConsensusClustering as ConsensusClustering
    from epluribus.uncertainty import (
        certificate,
        compare,
        credible_ball,
        error,
        items,
        modes,
        plausibility,
        psm,
    )
    from epluribus.writers import load

__all__ = [
    "Constraints", "Draws", "Estimate", "Loss", "__version__", "certificate", "compare",
    "credible_ball", "datasets", "error", "expected_loss", "items", "load", "loss", "losses",
    "methods", "minimize", "minimize_all", "models", "modes", "plausibility", "plots", "psm", "read_draws",
    "report", "sample", "sampling", "search", "soft_draws", "uncertainty",
]  # fmt: skip

# Where names are, by module, which is loaded on first use: `import epluribus` takes no time, and the command
# hears Ctrl-C from its beginning. ConsensusClustering cannot be defined without scikit-learn, so it is not in
# `__all__`: `from epluribus import *` must not need it.
_NAMES = {
    "constraints": "Constraints",
    "draws": "Draws read_draws soft_draws",
    "draws.expected": "expected_loss",
    "estimate": "Estimate",
    "losses.base": "Loss",
    "losses.values": "loss",
    "sampling": "sample",
    "page": "methods report",
    "search": "minimize minimize_all",
    "search.consensus": "ConsensusClustering",
    "uncertainty": "certificate compare credible_ball error items modes plausibility psm",
    "writers": "load",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = {
    "changes", "datasets", "draws", "losses", "models", "partition", "plots", "sampling", "search", "studies",
    "uncertainty",
}  # fmt: skip


# Python calls this for a name that the module does not have yet.
def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"epluribus.{name}")
    if name not in _WHERE:
        # With the module, Python suggests the nearest name.
        what = f"module 'epluribus' has no attribute '{name}'"
        raise AttributeError(what, name=name, obj=sys.modules[__name__])
    # From now on the name is found at once.
    value = globals()[name] = getattr(import_module(f"epluribus.{_WHERE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "ConsensusClustering"]
