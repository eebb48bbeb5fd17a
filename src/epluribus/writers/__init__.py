"""Writers: labels, similarity matrices, data frames, ArviZ groups, and files that `load` reads back.

Every file is written beside its target and then renamed, so that an interrupted program leaves the old file
or the new one, never half of one.
"""

from epluribus.writers.saved import load

__all__ = ["load"]
