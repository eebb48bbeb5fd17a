"""The command that draws labels from probabilities of clusters, such as Stan's."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

import epluribus as epl
from epluribus._files import check_target, write_whole
from epluribus._text import count
from epluribus.cli._base import JSON, SEED, Argument, answer, command, remark
from epluribus.readers.soft import read_soft


@command(
    "draw labels from probabilities of clusters, such as Stan's",
    Argument("files", "file of probabilities; several are chains", Path, many=True),
    Argument("--out", "write the draws there (.npz)", Path, required=True),
    Argument("--var", "name of the variable, if several have an item and a cluster as indices"),
    Argument("--log", "they are logarithms (default: if any is negative)", bool),
    Argument("--clusters-first", "the first index is the cluster, the second the item", bool),
    Argument("--n-draws-each", "partitions drawn from each draw (default: 1)", int, 1),
    SEED,
    JSON,
)
def soft(args: Namespace) -> None:
    """Draw labels from the probabilities of clusters that a sampler saved.

    FILES hold a number for each draw, item and cluster: csv files of Stan, with the columns p.1.1, p.2.1, ...
    or p[1,1] (item, cluster); npy, npz, netCDF or zarr. Probabilities of an item sum to 1; logarithms, as of
    categorical_logit, need not be normalized.

    Example: epluribus soft chain_1.csv chain_2.csv --var lp --out draws.npz && epluribus summarize draws.npz
    """
    check_target(args.out, (".npz",))
    found = read_soft(args.files, args.var)
    values = np.swapaxes(found.values, 1, 2) if args.clusters_first else found.values
    n_items, n_clusters = values.shape[1:]
    # Probabilities are never negative.
    log = args.log or bool((values < 0).any())
    what = "logarithms" if log else "probabilities"
    name = "" if found.variable is None else f" '{found.variable}'"
    remark(f"{what}{name} of {count(n_items, 'item')} and {count(n_clusters, 'cluster')}")
    if n_clusters > n_items:
        remark(
            "that is more clusters than items: if the first index is the cluster, give --clusters-first"
        )
    # Draws of chains of one length are an array by chain, as `epluribus sample` writes them.
    lengths = np.bincount(found.chains)
    items = None if args.clusters_first else found.items
    draws = epl.soft_draws(
        values, log=log, n_draws_each=args.n_draws_each, items=items, rng=args.seed
    )
    labels = np.asarray(draws)
    equal = len(set(lengths.tolist())) == 1
    if equal:
        order = np.argsort(found.chains, kind="stable")
        each = labels.reshape(len(values), args.n_draws_each, n_items)[order]
        labels = each.reshape(len(lengths), -1, n_items)
    elif len(lengths) > 1:
        remark("the chains have different lengths: they are written as one")
    arrays: dict[str, Any] = {"labels": labels}
    if items is not None:
        arrays["items"] = np.array(items)
    write_whole(args.out, lambda path: np.savez_compressed(path, **arrays))
    data = {
        "n_draws": draws.n_draws,
        "n_items": n_items,
        "n_clusters": n_clusters,
        "n_chains": len(lengths) if equal else 1,
        "log": log,
        "variable": found.variable,
        "out": str(args.out),
    }
    text = f"{count(draws.n_draws, 'draw')} of {count(n_items, 'item')}, written to {args.out}"
    answer(args, data, text)
