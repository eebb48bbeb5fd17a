"""Models from files, for the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import check_choice
from epluribus.models.block_models import LatentBlockModel, StochasticBlockModel
from epluribus.models.gaussian import GaussianMixture
from epluribus.readers.source import STDIN
from epluribus.readers.text import read_lines

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
        For 'gaussian' one item a line; for 'sbm' a square matrix, or edges in two columns; for
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
    if str(path) != STDIN and not path.is_file():
        raise FileNotFoundError(f"There is no file '{path}'.")
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    rows: list[list[float]] = []
    header: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        cells = [cell.strip("\"'") for cell in line.replace(",", " ").replace(";", " ").split()]
        if not cells:
            continue
        # R writes names of rows, and above them nothing, or an empty name.
        has_name = bool(header) and (header[0] == "" or len(header) == len(cells) - 1)
        try:
            rows.append([float(cell) for cell in cells[has_name:]])
        except ValueError:
            if rows or header:
                raise ValueError(
                    f"The file '{path}' must hold numbers; line {number} is {line.strip()[:60]!r}."
                ) from None
            header = cells
            continue
        if len(rows) > 1 and len(rows[-1]) != len(rows[0]):
            raise ValueError(
                f"The file '{path}' must have lines of one length; line {number} has "
                f"{len(rows[-1])} numbers, those before have {len(rows[0])}."
            )
    if not rows:
        raise ValueError(f"The file '{path}' must hold numbers; it has none.")
    table = np.array(rows)
    return table[:, 0] if table.shape[1] == 1 else table
