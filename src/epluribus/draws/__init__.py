"""Posterior draws of a partition, from arrays, files, objects of other packages and soft labels.

`Draws` is the input of every search and summary; `as_draws` makes one of anything that `Draws` accepts.
"""

from epluribus.draws.draws import Draws, as_draws
from epluribus.draws.read import read_draws, soft_draws, soft_psm

__all__ = ["Draws", "as_draws", "read_draws", "soft_draws", "soft_psm"]
