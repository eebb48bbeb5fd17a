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
from epluribus._text import count
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
    remark,
)
from epluribus.models import (
    GaussianMixture,
    LatentBlockModel,
    Model,
    PoissonBlockModel,
    StochasticBlockModel,
)
from epluribus.models.prior import NAMES
from epluribus.readers.files import check_exists, load_numpy
from epluribus.readers.text import read_table
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
_FOR = {("gaussian",): "model 'gaussian'", _NETWORKS: "models of networks, 'sbm' and 'dcsbm'"}
"""What options are for, in words."""

_PRIOR = (
    "on partitions: uniform (default), poisson, geometric or fixed, on the number of components; "
    "dirichlet-process or pitman-yor; paper (gaussian only): all settings of the paper's example"
)
_ALPHA = "concentration: of the weights of components, or of the process (default: the model's)"
_DELTA = (
    "gaussian: rate of the precision, the larger the wider clusters are a priori; in squared units of the "
    "data, or of their standard deviation with --standardize (default: chosen from the data)"
)
_COVARIANCE = "gaussian, several columns: full or diagonal (default: full if items are many)"
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
    Argument("--alpha", _ALPHA, float),
    Argument("--covariance", _COVARIANCE, values=("full", "diagonal")),
    Argument("--delta", _DELTA, float),
    Argument(
        "--gamma", "gaussian: shape of the precision (default: 0.5; full covariance: 1.5)", float
    ),
    Argument("--tau", "gaussian: observations the prior mean is worth (default: 0.01)", float),
    Argument("--standardize", "gaussian: give every column mean 0 and standard deviation 1", bool),
    Argument("--n-nodes", "number of nodes, for a network whose nodes are numbers from 0", int),
    Argument(
        "--directed",
        "links of a network have a direction, from the first column to the second",
        bool,
    ),
    Argument("--loops", "a network may have links of a node to itself", bool),
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
    model = read_model(args.model, args.file, args.standardize, **_model_options(args))
    if args.model in _NETWORKS:
        _describe_network(model, args)
    trace = epl.sample(
        model,
        rng=args.seed,
        progress=not args.json,
        **given(args, "n_draws", "burn_in", "thin", "n_chains", "moves", "n_jobs"),
        **given(args, "checkpoint", "resume"),
    )
    # An interrupted run is saved too: its draws are valid, only fewer.
    trace.save(args.out)
    answer(args, trace.to_dict(), f"{trace}\n  draws written to {args.out}")
    return interrupted("the draws so far are written") if trace.interrupted else 0


def _model_options(args: Namespace) -> dict[str, Any]:
    """The options of the model that were given; one that is for other models is an error."""
    options = given(args, "prior", "k_max")
    kinds = {
        ("gaussian",): ("covariance", "delta", "gamma", "tau", "standardize"),
        _NETWORKS: ("n_nodes", "directed", "loops"),
    }
    for models, names in kinds.items():
        for name in names:
            value = getattr(args, name)
            # Switches that are off and options that were left out.
            if value is None or value is False:
                continue
            if args.model not in models:
                raise ValueError(
                    f"'--{name.replace('_', '-')}' is for the {_FOR[models]}; got '{args.model}'. Leave "
                    "it out."
                )
            if name != "standardize":
                options[name] = value
    # Left out, the model chooses it.
    return options | ({} if args.alpha is None else {"alpha": args.alpha})


def _describe_network(model: Any, args: Namespace) -> None:
    """Print what was read, so that a network that was meant to be directed is noticed."""
    kind = "directed" if model.directed else "undirected"
    hint = "" if model.directed else " (--directed if links have a direction)"
    names = model.sides[0].items
    first = f", nodes {', '.join(names[:3])}, ..." if names and len(names) > 3 else ""
    remark(
        f"{kind} network of {count(model.n_items, 'node')} and {count(model.n_edges, 'edge')}{first}{hint}"
    )
    if names and "0" not in names and all(name.isdecimal() for name in names):
        remark(
            f"the numbers of nodes in {args.file} do not begin with 0: they are names "
            "(--n-nodes if they are numbers from 0)"
        )


def read_model(name: str, path: str | Path, standardize: bool = False, **options: Any) -> Model:
    r"""Read a model's data from a file of numbers.

    Parameters
    ----------
    name : {'gaussian', 'sbm', 'lbm', 'dcsbm'}
        Which model.
    path : str or Path
        The data: csv (commas, semicolons, tabs or blanks; a first line of names is skipped) or npy.
        For 'gaussian' one item per line; for 'sbm' and 'dcsbm' a square matrix, edges in two columns, or
        GraphML; for 'lbm' a matrix of zeros and ones.
    standardize : bool, default False
        Whether to give every column of numbers mean 0 and standard deviation 1.
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
            return make(_read_network(path, "n_nodes" in options, name), **options)
        table = read_numbers(path)
        return make(_standardized(table) if standardize else table, **options)


def _standardized(table: AnyArray) -> AnyArray:
    """Columns with mean 0 and standard deviation 1."""
    spread = np.std(table, axis=0)
    if np.any(spread == 0):
        raise ValueError("'--standardize' must be used with columns that vary; one is constant.")
    return (table - np.mean(table, axis=0)) / spread


def _read_network(path: str | Path, numbered: bool, name: str) -> Any:
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
    if edges and table.shape[1] == 3:
        table = _explain_weights(table, name, path)
    if edges and not numbered and table[:, :2].min() > 0 and (table == np.rint(table)).all():
        return [(str(int(i)), str(int(j)), *count) for i, j, *count in table]
    return table


def _explain_weights(table: AnyArray, name: str, path: Path) -> AnyArray:
    """Edges with a third column, which the model has to be able to use."""
    if name == "sbm":
        if (table[:, 2] == 1).all():
            return table[:, :2]  # weights of 1 say nothing
        raise ValueError(
            f"The third column of '{path}' has weights, and the links of 'sbm' have none. Leave the column "
            f"out (cut -d, -f1,2 {path.name}), or take the model 'dcsbm', whose links have counts."
        )
    counts = table[:, 2]
    if not ((counts >= 0) & (counts == np.rint(counts))).all():
        odd = counts[(counts < 0) | (counts != np.rint(counts))][0]
        raise ValueError(
            f"The third column of '{path}' must have counts, integers 0, 1, 2, ...; got {odd:g}. The model "
            "'dcsbm' counts links between two nodes. Round the weights, or keep the links above a threshold "
            "and take 'sbm'."
        )
    return table


def read_numbers(path: str | Path) -> AnyArray:
    """Read a table of numbers from a csv or npy file, or csv from standard input, ``-``.

    Returns an array of shape (n_rows, n_columns), or (n_rows,) if a csv file has a single column.
    """
    path = Path(path)
    check_exists(path)
    if path.suffix == ".npy":
        return np.asarray(load_numpy(path))
    table = read_table(path).numbers(path)
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
