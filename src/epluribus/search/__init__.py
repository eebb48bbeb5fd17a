"""Finding the partition with the smallest expected loss."""

from epluribus.search.exact import exact
from epluribus.search.greedy import Run, Step, greedy
from epluribus.search.minimize import minimize
from epluribus.search.recombine import merge, recombine

__all__ = ["Run", "Step", "exact", "greedy", "merge", "minimize", "recombine"]
