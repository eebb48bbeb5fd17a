"""Finding the partition with the smallest expected loss."""

from epluribus.estimate import Run, Step
from epluribus.search._exact import exact
from epluribus.search._greedy import greedy
from epluribus.search._minimize import minimize
from epluribus.search._recombine import merge, recombine

__all__ = ["Run", "Step", "exact", "greedy", "merge", "minimize", "recombine"]
