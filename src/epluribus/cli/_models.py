"""The commands that make draws (sample, soft, reproduce, demo) and those that describe the package."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import epluribus as epl
from epluribus import models
from epluribus._files import check_target
from epluribus._kernels.tables import sweep
from epluribus._text import count
from epluribus._validate import check_choice
from epluribus.cli._base import answer, command, given, interrupted, remark
from epluribus.cli._data import MODELS, describe, read_model
from epluribus.estimate import raise_if_interrupted
from epluribus.readers.soft import read_soft


@command(answer)
def sample(args: Namespace) -> int:
    """Draw partitions from the posterior of a model of the data in FILE.

    Mixtures of items, one in each line of a csv or npy file, cells perhaps missing: gaussian for measurements,
    poisson for counts, bernoulli for zeros and ones, categorical for words. Networks, as a square matrix, as edges
    in two columns, or as GraphML or GML: sbm for links that are there or not; poisson-sbm and dcsbm (with
    degrees) for counts, which may be in a third column. Rows and columns together: lbm, a matrix of zeros and ones, or
    pairs of a row and a column. Burn-in and thinning count single updates: a sweep over N items is N steps.

    model (text): gaussian, poisson, bernoulli, categorical, sbm, poisson-sbm, dcsbm or lbm
    file (file): file of data; - reads csv from standard input
    -o --out (file, required): file of draws (.npz); lbm writes those of the columns into NAME-columns.npz
    --n-draws (int): draws kept of each chain (default: 1000, fewer of many items, again until chains agree, at most
        four times)
    --burn (int): steps before them (default: a tenth of all)
    --thin (int): steps from draw to draw (default: one cycle)
    --n-chains (int, default 2): independent chains
    --k-max (int): largest number of clusters (default: 50)
    --prior (text): on partitions: uniform (default), poisson, geometric or fixed, on the number of components;
        dirichlet-process or pitman-yor; paper (gaussian only): all settings of the paper's example
    --alpha (number): concentration: of the weights of components, or of the process (default: the model's)
    --covariance (text): gaussian, several columns: full or diagonal (default: full if items are many)
    --delta (number): gaussian: rate of the precision, the larger the wider clusters are a priori; in squared
        units of the data (default: chosen from the data)
    --gamma (number): gaussian: shape of the precision (default: 0.5; full covariance: 1.5)
    --tau (number): gaussian: observations the prior mean is worth (default: 0.01)
    --header (text): edges: whether the first line is a heading, yes or no (default: recognized)
    --ignore-weights (switch): edges: count each once, whatever its weight and however often it is given
    --n-nodes (int): number of nodes, for a network whose nodes are numbers from 0
    --directed (switch): links of a network have a direction, from the first column to the second
    --loops (switch): a network may have links of a node to itself
    --moves (text, default default): or appendix, the paper's own
    --seed (int): random seed (default: another answer each time)
    --n-jobs (int): threads (default: one per chain, at most all cores, as for -1)
    --checkpoint (file): save the run there every minute; if it exists, go on from it

    Example: epluribus sample gaussian y.csv --out draws.npz && epluribus summarize draws.npz
    """
    check_target(args.out, (".npz",))
    names = (
        "header prior k_max alpha covariance delta gamma tau ignore_weights n_nodes directed loops"
    )
    # Left out, an option is None, or False for a switch: the model then has its own.
    own = given(args, names)
    options = {name: x for name, x in own.items() if x is not None and x is not False}
    model = read_model(args.model, args.file, **options)
    describe(model)
    run = given(args, "n_draws burn thin n_chains moves n_jobs checkpoint")
    trace = epl.sample(model, rng=args.seed, progress=not args.json, **run)
    # An interrupted run is saved too: its draws are valid, only fewer.
    trace.save(args.out)
    written = f"draws written to {args.out}"
    if trace.column_draws is not None:
        columns = args.out.with_name(f"{args.out.stem}-columns.npz")
        trace.column_draws.save(columns)
        written += f", those of the columns to {columns}"
    answer(args, trace.to_dict(), f"{trace}\n  {written}")
    return interrupted("the draws so far are written") if trace.interrupted else 0


@command(answer)
def soft(args: Namespace) -> None:
    """Draw labels from the probabilities of clusters that a sampler saved.

    FILES hold a number for each draw, item and cluster: csv files of Stan, with the columns p.1.1, p.2.1, ...
    or p[1,1] (item, cluster); npy, npz, netCDF or zarr. Probabilities of an item sum to 1; logarithms, as of
    categorical_logit, need not be normalized.

    files (files): file of probabilities; several are chains
    -o --out (file, required): file of draws (.npz)
    --var (text): name of the variable, if several have an item and a cluster as indices
    --log (switch): they are logarithms (default: if any is negative)
    --clusters-first (switch): the first index is the cluster, the second the item
    --n-draws-each (int, default 1): partitions drawn from each draw
    --seed (int): random seed (default: another answer each time)

    Example: epluribus soft chain_1.csv chain_2.csv --var lp --out draws.npz && epluribus summarize draws.npz
    """
    check_target(args.out, (".npz",))
    found = read_soft(args.files, args.var)
    values = np.swapaxes(found.values, 1, 2) if args.clusters_first else found.values
    n_items, n_clusters = values.shape[1:]
    log = args.log or bool((values < 0).any())  # probabilities are never negative
    name = "" if found.variable is None else f" '{found.variable}'"
    what = f"{'logarithms' if log else 'probabilities'}{name}"
    remark(f"{what} of {count(n_items, 'item')} and {count(n_clusters, 'cluster')}")
    if n_clusters > n_items:
        remark("more clusters than items: if the first index is the cluster, give --clusters-first")
    n_each = args.n_draws_each
    draws = epl.soft_draws(values, log=log, n_draws_each=n_each, rng=args.seed)
    items = None if args.clusters_first else found.items
    epl.Draws(draws, items=items, chains=np.repeat(found.chains, n_each)).save(args.out)
    data = {
        "n_draws": draws.n_draws,
        "n_items": n_items,
        "n_clusters": n_clusters,
        "n_chains": len(np.unique(found.chains)),
        "log": log,
        "variable": found.variable,
        "out": str(args.out),
    }
    words = f"{count(draws.n_draws, 'draw')} of {count(n_items, 'item')}, written to {args.out}"
    answer(args, data, words)


@command(answer)
def reproduce(args: Namespace) -> None:
    """Carry out one of the paper's three applications.

    From the data to draws, optimal partitions, tables and pictures, with each fact that the paper states
    next to the one found here. It writes a folder with summary.md, labels.csv, draws.npz and the pictures.

    study (text): galaxies, congress or blogs
    --data (file): folder with the French blogs (default: EPLURIBUS_DATA, or fetched)
    -o --out (file): folder (default: epluribus-STUDY)
    --quick (switch): short chains: seconds, not minutes
    --as-printed (switch): use the settings printed in the paper, even where others reproduce its results
    --seed (int, default 1): random seed
    --n-jobs (int): threads (default: all cores)

    Example: epluribus reproduce congress --out votes
    """
    # Imported here, so that other commands start without the studies.
    from epluribus.studies.study import check_folder

    check_choice(args.study, ("galaxies", "congress", "blogs"), "study")
    # A folder that cannot be written is refused before the work, which takes minutes.
    folder = check_folder(args.out or Path(f"epluribus-{args.study}"))
    options = given(args, "data quick as_printed n_jobs")
    study = epl.studies.reproduce(args.study, rng=args.seed, progress=not args.json, **options)
    files = [path.name for path in study.write(folder)]
    facts = study.facts.astype(str).to_dict("records")
    data = {"study": study.name, "facts": facts, "folder": str(folder), "files": files}
    answer(args, data, f"{study}\n\nWritten to {folder}: {', '.join(files)}")


@command()
def demo(args: Namespace) -> None:
    """Sample partitions of the built-in galaxies, find the best one, write pictures and a summary.

    It is a short version of 'reproduce galaxies', and takes seconds.

    -o --out (file, default epluribus-demo): folder

    Example: epluribus demo --out first-look
    """
    from epluribus.studies.study import check_folder

    folder = check_folder(args.out)
    # Only losses that share one compiled search: the first run in a new installation compiles less.
    study = epl.studies.galaxies(quick=True, losses=("vi", "binder"), progress=True)
    study.write(folder)
    print(
        f"The partition of galaxies with the smallest expected loss has\n\n{study.analysis.best}\n\n{study}"
    )
    print(f"\nPictures, labels, draws and a summary are in {folder}/ (begin with summary.md).")


@command(answer)
def losses(args: Namespace) -> None:
    """List the losses that --loss takes, with a line on each.

    Example: epluribus losses
    """
    _answer_names(args, epl.losses.describe())


@command(answer)
def datasets(args: Namespace) -> None:
    """List the data of the paper's applications, with a line on each.

    'epluribus reproduce NAME' analyzes them; in Python epl.datasets loads them.

    Example: epluribus datasets
    """
    _answer_names(args, epl.datasets.describe())


def _answer_names(args: Namespace, lines: Mapping[str, str]) -> None:
    """Print a list of names with a line on each, in two columns; in JSON just these, by name."""
    width = max(map(len, lines))
    table = "\n".join(f"{name:<{width}}  {line}" for name, line in lines.items())
    print(json.dumps(dict(lines)) if args.json else table)


@command()
def warmup(args: Namespace) -> None:  # noqa: ARG001 - the same argument for all commands
    """Compile beforehand what usual work needs: searches, also for very many items, and samplers.

    Without it, the first call of each kind compiles what it needs, once; later calls find it on disk. Useful
    after an installation or an upgrade, and where many processes start at the same time.

    Example: epluribus warmup
    """
    # Small, but large enough that the search does all that it does with usual samples; and so many items that
    # a few are searched first, and that two bytes cannot count them.
    rng = np.random.default_rng(1)
    for n_items, losses in ((60, ("vi", "binder", "nvi")), (66_000, ("vi", "binder"))):
        truth, noisy = rng.integers(4, size=n_items), rng.integers(4, size=(600, n_items))
        draws = np.where(rng.random(noisy.shape) < 0.3, noisy, truth)
        for loss in losses:
            print(f"search: {loss}, {n_items:,} items", flush=True)
            raise_if_interrupted(epl.minimize(draws, loss, rng=1))
    network = np.triu(rng.random((60, 60)) < 0.2, 1).astype(np.int64)
    made = {
        "gaussian": models.GaussianMixture(rng.normal(size=60)),
        "gaussian, several columns": models.GaussianMixture(rng.normal(size=(60, 2))),
        "sbm": models.StochasticBlockModel(network + network.T),
        "sbm, directed": models.StochasticBlockModel(network, directed=True),
        "dcsbm": MODELS["dcsbm"](network + network.T),
        "lbm": models.LatentBlockModel(network),
    }
    for name, model in made.items():
        print(f"sampler: {name}", flush=True)
        raise_if_interrupted(epl.sample(model, n_draws=2, n_chains=1, rng=1))
    place = sweep.stats.cache_path
    cannot = "nowhere: no folder is writable. Name one by the environment variable NUMBA_CACHE_DIR"
    print(f"compiled code is kept in {place or cannot}")
