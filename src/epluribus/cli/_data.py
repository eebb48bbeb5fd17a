"""Data on the command line: measurements, networks and matrices in files, and the models that take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from epluribus import models
from epluribus._files import about
from epluribus._text import count
from epluribus._validate import check_choice
from epluribus.cli._base import remark
from epluribus.models.edges import UNNAMED
from epluribus.models.networks import NetworkModel
from epluribus.readers.files import check_exists, load_numpy
from epluribus.readers.text import read_table

MODELS: dict[str, Callable[..., models.Model]] = {
    "gaussian": models.GaussianMixture,
    "poisson": models.PoissonMixture,
    "bernoulli": models.BernoulliMixture,
    "categorical": models.CategoricalMixture,
    "sbm": models.StochasticBlockModel,
    "poisson-sbm": models.PoissonBlockModel,
    "dcsbm": partial(models.PoissonBlockModel, degree_corrected=True),
    "lbm": models.LatentBlockModel,
}
"""The models by their names on the command line."""


def read_model(name: str, path: Path, header: str | None = None, **options: Any) -> models.Model:
    r"""A model, by its name in `MODELS`, of the data in a file.

    Parameters
    ----------
    name : str
    path : Path
        As ``epluribus sample`` takes it.
    header : {"yes", "no"}, optional
        Whether the first line of a file of edges is a heading.
    **options
        Arguments of the model; one that is for other models is an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from epluribus.cli._data import read_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "y.csv"
    ...     _ = path.write_text("velocity\n9.2\n9.4\n16.1\n")
    ...     model = read_model("gaussian", path, alpha=4)
    >>> model.n_items
    3
    """
    make = MODELS[check_choice(name, MODELS, "model")]
    of_edges = name in ("sbm", "poisson-sbm", "dcsbm", "lbm")
    known = {*inspect.signature(make).parameters, *(["header"] if of_edges else [])}
    for option in (*options, *(["header"] if header else [])):
        if option not in known:
            raise ValueError(
                f"'--{option.replace('_', '-')}' is not for the model '{name}'. Leave it out."
            )
    with about(path, "y", "adjacency", "matrix"):
        if not of_edges or path.suffix == ".npy":
            return make(read_items(path, words=name == "categorical"), **options)
        named = None if header is None else check_choice(header, ("yes", "no"), "header") == "yes"
        data = models.read_edges(path, named)
        heading = tuple(data.columns) if hasattr(data, "columns") else ()
        is_edges = len(heading) in (2, 3) and data.dtypes.iloc[0].kind == "O"
        if is_edges and heading != UNNAMED[: len(heading)]:
            names = ", ".join(heading)
            remark(f"the first line is the heading {names} (--header no if it is data)")
        return make(data, **options)


def read_items(path: Path, *, words: bool = False) -> Any:
    """The array of an npy file, or a data frame of a csv file, one item in each line; numbers, or words too.

    Rows and columns have the names in the file; a first column of words that all differ has those of the rows.
    """
    check_exists(path)
    if path.suffix == ".npy":
        return np.array(load_numpy(path))
    table = read_table(path)
    if not table.skip and table.frame.shape[1] > 1:
        texts, names = table.texts, pd.Series(table.texts(0))
        if names.is_unique and pd.to_numeric(names, errors="coerce").isna().all():
            remark("the first column is read as the names of the items")
            others = table.frame.iloc[:, 1:]
            table = table._replace(frame=others, skip=1, texts=lambda i: texts(i + 1))
    return table.to_frame(words=words, gaps=True)


def describe(model: Any) -> None:
    """Print what was read, so that a network that was meant to be directed is noticed."""
    names = model.sides[0].items or ()
    first = f", {model.sides[0].name} {', '.join(names[:3])}, ..." if len(names) > 3 else ""
    if isinstance(model, models.LatentBlockModel):
        rows, columns = (count(side.n_items, side.name[:-1]) for side in model.sides)
        remark(f"matrix of {rows} and {columns}{first}")
    elif isinstance(model, NetworkModel):
        hint = "" if model.directed else " (--directed if links have a direction)"
        remark(f"network of {model.size}{first}{hint}")
