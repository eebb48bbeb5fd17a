"""Record linkage: one answer out of a hundred ways to link 10,000 records.

RLdata10000 (Borg & Sariyar, R package RecordLinkage; here from the package mismo) has 10,000 records of
first name, last name and date of birth; 1,000 of them are duplicates with a mistake. The truth is known.
"""

from __future__ import annotations

import csv
import itertools
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import epluribus as epl
from cases.shared import pair_scores, scores, shipped

N_LINKAGES = 100
COSTS = (1.2, 1.0, 0.9, 0.6)
"""Bits at which a record may stay undecided. The records in doubt would add about 0.9 bits each."""


def run(folder: Path) -> dict[str, Any]:
    """The figures and the numbers of the page."""
    path = shipped("mismo", "_data", "_datasets", "rldata", "RLdata10000.csv")
    with path.open(newline="") as file:
        records = list(csv.DictReader(file))
    truth = np.array([int(record["label_true"]) for record in records])
    table = linkages(records, np.random.default_rng(1))
    # Not a posterior: an ensemble of rules that somebody might use.
    draws = epl.Draws(table, kind="ensemble")
    best = epl.minimize(draws, "vi", rng=1)
    single = np.array([_scores(labels, truth) for labels in table])
    consensus, vote = _scores(best.labels, truth), _scores(majority(draws), truth)
    _figure(single, consensus, vote, folder / "images" / "records.png")
    items = epl.uncertainty.items(best, draws)
    doubtful = items.support < 0.5
    wrong = _wrong(best.labels, truth)
    parts = pieces(table)
    rows, n_proved, n_open, wrong_open = [], 0, 0, 0.0
    for cost in COSTS:
        labels, n_proved = undecided(table, parts, cost)
        left = labels < 0
        precision, recall = pair_scores(labels[~left], truth[~left])
        rows.append(
            f"| {cost} | {left.sum()} | {100 * wrong[left].mean():.0f}% | {wrong[~left].sum()} | "
            f"{precision:.3f} | {recall:.3f} |"
        )
        if cost == COSTS[1]:
            n_open, wrong_open = int(left.sum()), 100 * float(wrong[left].mean())
    return {
        "n_records": f"{len(records):,}",
        "n_entities": f"{len(np.unique(truth)):,}",
        "n_linkages": len(table),
        "fewest": f"{table.max(axis=1).min() + 1:,}",
        "most": f"{table.max(axis=1).max() + 1:,}",
        "n_clusters": f"{best.n_clusters:,}",
        "consensus": _row("**consensus**", consensus, bold=True),
        "vote": _row("pairs that most linkages link", vote),
        "median": _row("one linkage, median of each column", np.median(single, axis=0)),
        "best_single": _row(
            f"one linkage, the best F of {len(table)}", single[single[:, 2].argmax()]
        ),
        "precision": consensus[0],
        "recall": consensus[1],
        "f_median": float(np.median(single[:, 2])),
        "n_better": int((single[:, 2] > consensus[2]).sum()),
        "n_wrong": int(wrong.sum()),
        "n_doubtful": int(doubtful.sum()),
        "wrong_doubtful": 100 * float(wrong[doubtful].mean()),
        "wrong_others": 100 * float(wrong[~doubtful].mean()),
        "n_parts": f"{sum(len(part) > 1 for part in parts):,}",
        "largest": max(map(len, parts)),
        "n_proved": f"{n_proved:,}",
        "undecided": "\n".join(rows),
        "cost": COSTS[1],
        "n_open": n_open,
        "wrong_open": wrong_open,
    }


def linkages(records: list[dict[str, str]], rng: np.random.Generator) -> np.ndarray:
    """(N_LINKAGES, n_records) labels: each linkage has its own blocks, comparisons, weights and threshold."""
    n = len(records)
    names = [[record[field] for record in records] for field in ("fname_c1", "lname_c1")]
    dates = np.array([[int(record[field]) for record in records] for field in ("by", "bm", "bd")])
    year, month, day = dates
    keys: list[Callable[[int], Any]] = [
        lambda i: (year[i], month[i]),
        lambda i: (year[i], day[i]),
        lambda i: (month[i], day[i], names[1][i][:1]),
        lambda i: (names[0][i], names[1][i]),
    ]
    blocks = [_pairs(key, n) for key in keys]
    pairs = np.array(sorted(set().union(*blocks)))
    member = np.array([[tuple(pair) in block for pair in pairs.tolist()] for block in blocks])
    similar = np.stack([_similarity(words, pairs) for words in names])
    equal = (dates[:, pairs[:, 0]] == dates[:, pairs[:, 1]]).astype(float)
    found = []
    for _ in range(N_LINKAGES):
        used = rng.choice(4, rng.integers(2, 4), replace=False)  # two or three of the blocking keys
        least = rng.uniform(0.4, 0.8)
        rule = [similar == 1, similar >= least, similar][rng.integers(3)]
        weights = rng.uniform(0.5, 1.5, 5)
        score = 5 * weights / weights.sum() @ np.concatenate([rule, equal])
        link = pairs[member[used].any(axis=0) & (score >= rng.uniform(3.6, 4.4))]
        graph = coo_array((np.ones(len(link)), link.T), shape=(n, n))
        found.append(connected_components(graph, directed=False)[1])
    return np.array(found)


def _pairs(key: Callable[[int], Any], n: int) -> set[tuple[int, int]]:
    """The pairs of records that agree in a key: only these are compared."""
    groups = defaultdict(list)
    for i in range(n):
        groups[key(i)].append(i)
    return {pair for group in groups.values() for pair in itertools.combinations(group, 2)}


def _similarity(words: list[str], pairs: np.ndarray) -> np.ndarray:
    """Dice's coefficient of the pairs of letters of two words: 1 if equal, 0 if they share none."""
    grams = [{word[i : i + 2] for i in range(len(word) - 1)} for word in (f" {w} " for w in words)]
    return np.array(
        [2 * len(grams[a] & grams[b]) / (len(grams[a]) + len(grams[b])) for a, b in pairs.tolist()]
    )


def majority(draws: epl.Draws) -> np.ndarray:
    """What one would otherwise do: link the pairs that more than half of the linkages link."""
    matrix = epl.psm(draws, sparse=True, threshold=0.5)
    return connected_components(matrix, directed=False)[1]


def pieces(table: np.ndarray) -> list[np.ndarray]:
    """Sets of records such that no linkage links two of different sets."""
    n = table.shape[1]
    # Each record with the first one of its cluster, in every linkage.
    firsts = [np.unique(z, return_index=True, return_inverse=True)[1:] for z in table]
    ends = np.concatenate([first[inverse] for first, inverse in firsts])
    starts = np.tile(np.arange(n), len(table))
    graph = coo_array((np.ones(len(ends)), (starts, ends)), shape=(n, n))
    found = connected_components(graph, directed=False)[1]
    order = np.argsort(found, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(found[order])) + 1)


def undecided(table: np.ndarray, parts: list[np.ndarray], cost: float) -> tuple[np.ndarray, int]:
    """Labels of the best partition at a cost, -1 for undecided records, and in how many sets it is proved.

    The total of the variation of information is a sum over clusters and their overlaps, so the best partition
    of all records is made of those of the sets, which are small enough to be solved exactly.
    """
    labels, proved = np.arange(table.shape[1]), 0
    for part in parts:
        if len(part) > 1:
            found = epl.minimize(table[:, part], undecided=cost, rng=1)
            # A cluster bears the number of one of its records' places in the set: no other set has it.
            labels[part] = np.where(found.labels < 0, -1, part[found.labels])
            proved += not found.runs  # few items are solved exactly, without runs
    return labels, proved


def _scores(labels: np.ndarray, truth: np.ndarray) -> tuple[float, ...]:
    """Precision, recall and F of pairs, adjusted Rand index, and variation of information in bits."""
    precision, recall = pair_scores(labels, truth)
    f = 2 * precision * recall / max(precision + recall, 1e-300)
    return precision, recall, f, *scores(labels, truth)


def _row(name: str, values: Any, *, bold: bool = False) -> str:
    """A row of the table of scores."""
    mark = "**" if bold else ""
    return f"| {name} | " + " | ".join(f"{mark}{value:.3f}{mark}" for value in values) + " |"


def _wrong(labels: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Which records are with the wrong records, or not with all the right ones."""
    cells = labels.astype(np.int64) * (int(truth.max()) + 1) + truth
    together = [
        np.unique(x, return_inverse=True, return_counts=True)[1:] for x in (cells, labels, truth)
    ]
    both, mine, theirs = (counts[inverse] for inverse, counts in together)
    return (both != mine) | (both != theirs)


def _figure(single: np.ndarray, consensus: Any, vote: Any, path: Path) -> None:
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    ax.scatter(single[:, 1], single[:, 0], s=18, color="0.6", label="each linkage")
    ax.scatter(vote[1], vote[0], s=40, marker="D", color="#0072B2", label="majority of pairs")
    ax.scatter(consensus[1], consensus[0], s=90, marker="*", color="#E69F00", label="consensus")
    ax.set(xlabel="recall of pairs", ylabel="precision of pairs")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=120)
    plt.close(figure)
