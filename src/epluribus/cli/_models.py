"""The commands that make draws (sample, reproduce, demo) and those that describe the package.

`read_model` makes a model of the data in a file, and `read_numbers` reads such a file.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import epluribus as epl
from epluribus._files import about, check_target
from epluribus._typing import AnyArray
from epluribus._validate import check_choice
from epluribus.cli._base import (
    JSON,
    N_JOBS,
    SEED,
    Argument,
    answer,
    answer_names,
    command,
    completion_script,
    given,
    interrupted,
)
from epluribus.models import (
    GaussianMixture,
    LatentBlockModel,
    Model,
    PoissonBlockModel,
    StochasticBlockModel,
)
from epluribus.models.prior import NAMES
from epluribus.readers import text
from epluribus.readers.files import check_exists, load_numpy
from epluribus.sampling.moves import SCHEDULES

MODELS: dict[str, Callable[..., Model]] = {
    "gaussian": GaussianMixture,
    "sbm": StochasticBlockModel,
    "lbm": LatentBlockModel,
    "dcsbm": partial(PoissonBlockModel, degree_corrected=True),
}
"""The models by their names on the command line."""
_NETWORKS = ("sbm", "dcsbm")
"""Those of networks."""

_PRIOR = (
    "on partitions: uniform (default), poisson, geometric or fixed, on the number of components; "
    "dirichlet-process or pitman-yor; paper (gaussian only): all settings of the paper's example"
)
_MOVES = "default, or appendix: the paper's own"
_AS_PRINTED = "use the settings printed in the paper, even where others reproduce its results"


@command(
    "draw partitions from the posterior of a model",
    Argument("model", "the model", choices=tuple(MODELS)),
    Argument("file", "file of data; - reads csv from standard input", Path),
    Argument("--out", "write the draws there (.npz)", Path, required=True),
    Argument("--n-draws", "draws kept of each chain (default: 1000)", int),
    Argument("--burn-in", "steps before them (default: a tenth of all)", int),
    Argument("--thin", "steps from draw to draw (default: one cycle)", int),
    Argument("--n-chains", "independent chains (default: 2)", int),
    Argument("--k-max", "largest number of clusters (default: 50)", int),
    Argument("--prior", _PRIOR, str, "uniform", values=(*NAMES, "paper")),
    Argument("--n-nodes", "number of nodes, for a network whose nodes are numbers from 0", int),
    Argument(
        "--directed",
        "links of a network have a direction, from the first column to the second",
        bool,
    ),
    Argument("--moves", _MOVES, str, "default", values=SCHEDULES),
    SEED,
    Argument("--n-jobs", "threads (default: one per chain, at most all cores)", int),
    Argument("--checkpoint", "save the run there every minute", Path),
    Argument("--resume", "continue a checkpoint", Path),
    JSON,
)
def sample(args: Namespace) -> int:
    """Draw partitions from the posterior of a model of the data in FILE (csv or npy).

    gaussian: one item per line, with one number or several; sbm: a network, as a square matrix of 0 and 1,
    edges in two columns (names or numbers of nodes), or GraphML; dcsbm: the same with degrees, where edges
    may have counts in a third column; lbm: a matrix of 0 and 1. Burn-in and thinning count single updates: a
    sweep over N items is N steps.

    Example: epluribus sample gaussian y.csv --out draws.npz && epluribus summarize draws.npz
    """
    check_target(args.out, (".npz",))
    # Only a network has nodes: other models would fail on the argument with a message about Python.
    options = given(args, "prior", "k_max")
    for name in ("n_nodes", "directed"):
        value = getattr(args, name)
        if value and args.model not in _NETWORKS:
            raise ValueError(
                f"'--{name.replace('_', '-')}' is for networks, the models 'sbm' and 'dcsbm'; got "
                f"'{args.model}'. Leave it out."
            )
        if value:
            options[name] = value
    trace = epl.sample(
        read_model(args.model, args.file, **options),
        rng=args.seed,
        progress=not args.json,
        **given(args, "n_draws", "burn_in", "thin", "n_chains", "moves", "n_jobs"),
        **given(args, "checkpoint", "resume"),
    )
    # An interrupted run is saved too: its draws are valid, only fewer.
    trace.save(args.out)
    answer(args, trace.to_dict(), f"{trace}\n  draws written to {args.out}")
    return interrupted("the draws so far are written") if trace.interrupted else 0


def read_model(name: str, path: str | Path, **options: Any) -> Model:
    r"""Read a model's data from a file of numbers.

    Parameters
    ----------
    name : {'gaussian', 'sbm', 'lbm', 'dcsbm'}
        Which model.
    path : str or Path
        The data: csv (commas, semicolons, tabs or blanks; a first line of names is skipped) or npy.
        For 'gaussian' one item per line; for 'sbm' and 'dcsbm' a square matrix, edges in two columns, or
        GraphML; for 'lbm' a matrix of zeros and ones.
    **options
        Arguments of the model.

    Returns
    -------
    Model
        Ready for `epluribus.sample`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from epluribus.cli._models import read_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "y.csv"
    ...     _ = path.write_text("velocity\n9.2\n9.4\n16.1\n")
    ...     model = read_model("gaussian", path, alpha=4)
    >>> model.n_items
    3
    """
    make = MODELS[check_choice(name, MODELS, "name")]
    with about(path, "y", "adjacency", "matrix"):
        if name in _NETWORKS:
            return make(_read_network(path, "n_nodes" in options), **options)
        return make(read_numbers(path), **options)


def _read_network(path: str | Path, numbered: bool) -> Any:
    """A matrix, edges with numbers or names, or the path itself, which the model reads."""
    path = Path(path)
    if path.suffix.lower() == ".graphml":
        return path
    try:
        table = read_numbers(path)
    except ValueError:  # names
        return path
    # Numbers of nodes that do not begin with 0 are names: there is no node 0.
    edges = table.ndim == 2 and table.shape[1] in (2, 3) and table.shape[0] != table.shape[1]
    if edges and not numbered and table[:, :2].min() > 0 and (table == np.rint(table)).all():
        return [(str(int(i)), str(int(j)), *count) for i, j, *count in table]
    return table


def read_numbers(path: str | Path) -> AnyArray:
    """Read a table of numbers from a csv or npy file, or csv from standard input, ``-``.

    Returns an array of shape (n_rows, n_columns), or (n_rows,) if a csv file has a single column.
    """
    path = Path(path)
    check_exists(path)
    if path.suffix == ".npy":
        return np.asarray(load_numpy(path))
    table = text.read_numbers(path)
    return table[:, 0] if table.shape[1] == 1 else table


@command(
    "carry out one of the paper's three applications",
    Argument("study", "which one", choices=("galaxies", "congress", "blogs")),
    Argument("--data", "folder with the French blogs (default: EPLURIBUS_DATA, or fetched)", Path),
    Argument("--out", "folder (default: epluribus-STUDY)", Path),
    Argument("--quick", "short chains: seconds, not minutes", bool),
    Argument("--as-printed", _AS_PRINTED, bool),
    Argument("--seed", "seed (default: 1)", int, 1),
    N_JOBS,
    JSON,
)
def reproduce(args: Namespace) -> None:
    """Carry out one of the paper's three applications.

    From the data to draws, optimal partitions, tables and pictures, with each fact that the paper states
    beside the one found here. It writes a folder with summary.md, labels.csv, draws.npz and the pictures.

    Example: epluribus reproduce congress --out votes
    """
    # Imported here, so that other commands start without the studies.
    from epluribus.studies.study import check_folder

    # A folder that cannot be written is refused before the work, which takes minutes.
    folder = check_folder(args.out or Path(f"epluribus-{args.study}"))
    options = given(args, "data", "quick", "as_printed", "n_jobs")
    study = epl.studies.reproduce(args.study, rng=args.seed, progress=not args.json, **options)
    files = [path.name for path in study.write(folder)]
    # For JSON, each row of the table of facts becomes an object whose keys are the headings.
    facts = [dict(zip(study.facts.head, map(str, row), strict=True)) for row in study.facts.rows]
    data = {"study": study.name, "facts": facts, "folder": str(folder), "files": files}
    answer(args, data, f"{study}\n\nWritten to {folder}: {', '.join(files)}")


@command(
    "a first look, in seconds: galaxies clustered by velocity",
    Argument("--out", "folder (default: epluribus-demo)", Path, Path("epluribus-demo")),
)
def demo(args: Namespace) -> None:
    """Sample partitions of the built-in galaxies, find the best one, write pictures and a summary.

    It is a short version of 'reproduce galaxies'.

    Example: epluribus demo --out first-look
    """
    # Imported here, so that other commands start without the studies.
    from epluribus.studies._galaxies import run_demo

    print(run_demo(args.out, progress=True))


@command("names of the losses, with a line on each", JSON)
def losses(args: Namespace) -> None:
    """Names of the losses that --loss takes, with a line on each.

    Example: epluribus losses
    """
    answer_names(args, epl.losses.describe())


@command("names of the data sets, with a line on each", JSON)
def datasets(args: Namespace) -> None:
    """Names of the data of the paper's applications, with a line on each.

    'epluribus reproduce NAME' analyzes them; in Python epl.datasets loads them.

    Example: epluribus datasets
    """
    answer_names(args, epl.datasets.describe())


@command(
    "print a script that completes commands in the shell",
    Argument("shell", "which shell", choices=("bash", "zsh", "tcsh")),
)
def completion(args: Namespace) -> None:
    """Print a script that completes commands and options with the tab key.

    Example, in ~/.bashrc: eval "$(epluribus completion bash)"; in ~/.zshrc, after compinit:
    eval "$(epluribus completion zsh)"
    """
    print(completion_script(args.shell))
