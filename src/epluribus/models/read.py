"""Models from files, for the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import check_choice
from epluribus.models.block_models import LatentBlockModel, StochasticBlockModel
from epluribus.models.gaussian import GaussianMixture
from epluribus.readers import text
from epluribus.readers.files import check_exists, load_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus.models.base import Model

__all__ = ["MODELS", "read_model", "read_numbers"]

MODELS: dict[str, Callable[..., Model]] = {
    "gaussian": GaussianMixture,
    "sbm": StochasticBlockModel,
    "lbm": LatentBlockModel,
}
"""Names of models on the command line."""


def read_model(name: str, path: str | Path, **options: Any) -> Model:
    r"""Read a model's data from a file of numbers.

    Parameters
    ----------
    name : {'gaussian', 'sbm', 'lbm'}
        Which model.
    path : str or Path
        The data: csv (commas, semicolons, tabs or blanks; a first line of names is skipped) or npy.
        For 'gaussian' one item per line; for 'sbm' a square matrix, or edges in two columns; for
        'lbm' a matrix of zeros and ones.
    **options
        Arguments of the model.

    Returns
    -------
    Model

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from epluribus.models.read import read_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "y.csv"
    ...     _ = path.write_text("velocity\n9.2\n9.4\n16.1\n")
    ...     model = read_model("gaussian", path, alpha=4)
    >>> model.n_items
    3
    """
    make = MODELS[check_choice(name, MODELS, "name")]
    return make(read_numbers(path), **options)


def read_numbers(path: str | Path) -> NDArray[Any]:
    """Read a table of numbers from a csv or npy file, or csv from standard input, ``-``.

    A column alone gives one dimension.
    """
    path = Path(path)
    check_exists(path)
    if path.suffix == ".npy":
        return np.asarray(load_numpy(path))
    table = text.read_numbers(path)
    return table[:, 0] if table.shape[1] == 1 else table
