"""Finding the partition with the smallest expected loss.

`minimize` is the way in. The others are its parts, or the paper's procedures: `exact` tries all partitions,
`greedy` is Algorithm 1 from one start, `merge` joins clusters while that helps, `recombine` makes one good
partition out of several. `epluribus.ConsensusClustering` offers `minimize` as a scikit-learn estimator.
"""

from epluribus.estimate import Run, Step
from epluribus.search._exact import exact
from epluribus.search._greedy import greedy
from epluribus.search._minimize import minimize
from epluribus.search._recombine import merge, recombine

__all__ = ["Run", "Step", "exact", "greedy", "merge", "minimize", "recombine"]
