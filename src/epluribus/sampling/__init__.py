"""How a posterior is explored: chains, the moves they make, and what they leave."""

from epluribus.sampling.allocation import Allocation
from epluribus.sampling.gibbs import Gibbs
from epluribus.sampling.run import sample
from epluribus.sampling.split_merge import SplitMerge
from epluribus.sampling.trace import Diagnostics, Trace

__all__ = ["Allocation", "Diagnostics", "Gibbs", "SplitMerge", "Trace", "sample"]
