"""Sampling: chains that explore a posterior, the moves they make, and the trace they leave."""

from epluribus.sampling.moves import Allocation, Gibbs, SplitMerge
from epluribus.sampling.run import sample
from epluribus.sampling.trace import Diagnostics, Trace

__all__ = [
    "Allocation",
    "Diagnostics",
    "Gibbs",
    "SplitMerge",
    "Trace",
    "sample",
]
