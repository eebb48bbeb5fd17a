"""Names for kinds of arrays, and for what users may pass as an argument."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from epluribus.draws import Draws
    from epluribus.losses.base import Loss

# Aliases that name `Draws` or `Loss` are strings: these classes are defined in modules that import this one.
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
AnyArray: TypeAlias = NDArray[Any]
LabelsLike: TypeAlias = Sequence[Any] | NDArray[Any]
DrawsLike: TypeAlias = "Draws | NDArray[Any] | Sequence[Any] | str | Path | Any"
LossLike: TypeAlias = "str | Loss"
RngLike: TypeAlias = "int | Sequence[int] | np.random.SeedSequence | np.random.Generator | None"
