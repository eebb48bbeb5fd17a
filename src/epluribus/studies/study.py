"""The result of a study: its tables and pictures, the page made of them, and the folder of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from epluribus._files import write_columns, write_whole
from epluribus._text import plain_table
from epluribus._version import __version__
from epluribus.draws import Draws
from epluribus.draws.expected import expected_loss
from epluribus.studies.analysis import Analysis, Protocol
from epluribus.uncertainty import n_clusters_posterior


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """One of the paper's applications, carried out.

    `print` shows the facts, `summary` returns a page in Markdown, `write` makes a folder of files.

    Examples
    --------
    >>> from epluribus.studies import galaxies
    >>> study = galaxies(quick=True)  # doctest: +SKIP
    >>> study.analysis.best.n_clusters, len(study.pictures)  # doctest: +SKIP
    (3, 2)
    """

    analysis: Analysis
    """What the paper states; the draws, the estimates and the runs found here."""
    rows: Sequence[tuple[Any, ...]]
    """Facts that only this study has: the fact, the paper's value, the value found here."""
    pictures: Mapping[str, tuple[Any, str]]
    """The paper's figures: each a matplotlib Figure and a caption, by the name of its file."""
    labels: Mapping[str, Any]
    """Columns of labels.csv: what is known of the items, and their cluster under each loss."""
    command: str
    """The command that makes this study."""
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Columns of further csv files, by name."""

    @property
    def name(self) -> str:
        """Name of the study, such as "galaxies"."""
        return self.analysis.facts.name

    @property
    def facts(self) -> pd.DataFrame:
        """Every fact that the paper states, with ours; times only where as much was computed as there."""
        found, paper, ours = self.analysis, self.analysis.facts, self.analysis.protocol
        bits = zip(found.by_loss.names, found.by_loss.distances[0], strict=True)
        far = ", ".join(f"{name} {distance:.2f}" for name, distance in bits if name != "vi")
        rows = [
            ("posterior of the number of clusters peaks at", paper.k_mode, _peak(found.draws)),
            ("clusters of the VI-optimal partition", paper.k_optimal, found.best.n_clusters),
            *self.rows,
            ("bits of VI from it to the optima of other losses", '"similar partitions"', far),
        ]
        # The paper ran one chain, here there are several at the same time: CPU seconds of one of them.
        if ours.lengths == Protocol().lengths:
            rows.append(("CPU time of a chain", paper.sample_time, f"{found.cpu['chain']:.3g} s"))
        if ours.n_draws == Protocol().n_draws:
            seconds = np.mean([found.cpu[start] for start in found.greedy])
            rows.append(("CPU time of a greedy run", paper.greedy_time, f"{seconds:.3g} s"))
        return pd.DataFrame(rows, columns=["fact", "paper", "here"])

    def summary(self) -> str:
        """The page, in Markdown: facts, pictures, tables, and what differs from the paper.

        Returns
        -------
        str
            It refers to the pictures that `write` puts into the same folder.
        """
        found, paper = self.analysis, self.analysis.facts
        tables = {
            "The paper's facts and ours": self.facts,
            **make_tables(found, self.labels.get("party")),
        }
        parts = [
            f"# {paper.title}",
            f"Section {paper.section} of Rastelli & Friel (2018). {paper.model}",
            f"**Chosen here:** {paper.choices}",
            *(f"## {title}\n\n{markdown(frame)}" for title, frame in tables.items()),
            f"## The optimum under each loss\n\n```text\n{found.by_loss}\n```",
            f"## The chains\n\n```text\n{found.trace}\n```",
            "## Pictures",
            *(
                f"![{text}]({self.name}-{name}.png)\n\n*{text}*"
                for name, (_, text) in self.pictures.items()
            ),
            "## What differs from the paper, and the evidence",
            "\n".join(f"- {note}" for note in paper.notes),
            f"Made by `{self.command}` (epluribus {__version__}).",
        ]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write summary.md, draws.npz, labels.csv and the pictures into a folder.

        Parameters
        ----------
        folder : str or Path
            Made if it does not exist; files of the same names are replaced, each whole or not at all.

        Returns
        -------
        list of Path
            The files written.

        Examples
        --------
        >>> from epluribus.studies import galaxies
        >>> galaxies(quick=True).write("epluribus-galaxies")[0].name  # doctest: +SKIP
        'summary.md'
        """
        import matplotlib as mpl

        place = check_folder(folder)
        files = [place / "summary.md", place / "draws.npz"]
        write_whole(files[0], lambda path: path.write_text(self.summary(), encoding="utf-8"))
        self.analysis.trace.save(files[1])
        items = range(self.analysis.facts.n_items)
        for name, columns in {"labels": {"item": items, **self.labels}, **self.more}.items():
            files.append(place / f"{name}.csv")
            write_columns(files[-1], columns)
        # The page shows the png files; the svg files are for print. Without a date, and with fixed identifiers
        # inside, the same study gives the same files.
        with mpl.rc_context({"svg.hashsalt": "epluribus", "savefig.dpi": 110}):
            for name, (figure, _) in self.pictures.items():
                for kind, metadata in {"png": {}, "svg": {"Date": None}}.items():
                    files.append(place / f"{self.name}-{name}.{kind}")
                    save = partial(figure.savefig, format=kind, metadata=metadata)
                    write_whole(files[-1], save)
        return files

    def __repr__(self) -> str:
        return f"Study({self.name!r}, n_clusters={self.analysis.best.n_clusters})"

    def __str__(self) -> str:
        paper, lines = self.analysis.facts, plain_table(self.facts.to_dict("list"), words=3)
        return "\n".join([paper.title, "", *lines, "", fill(f"Chosen here: {paper.choices}", 100)])


def check_folder(folder: str | Path) -> Path:
    """The folder, made if it does not exist: a bad one is refused before the long work."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(
            f"'out' must be a folder; {place} is a file. Give the name of a folder, old or new."
        )
    place.mkdir(parents=True, exist_ok=True)
    return place


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown.

    >>> print(markdown(pd.DataFrame({"cluster": [1, 2], "items": [72, 7]})))
    | cluster | items |
    | --- | --- |
    | 1 | 72 |
    | 2 | 7 |
    """
    rows = (frame.columns, ["---"] * frame.shape[1], *frame.itertuples(index=False))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def make_tables(found: Analysis, party: Sequence[str] | None) -> dict[str, pd.DataFrame]:
    """All tables of the page but that of the facts; `party` is that of each item, where there are any."""
    paper, draws, tables, off = found.facts, found.draws, {}, {}
    optima = [*found.by_chain, found.best]
    if party is not None:
        mine = paper.count(party, paper.number(found.best.labels, party))
        for title, table in {"Our optimum": mine, "The paper's optimum": paper.table}.items():
            # Most cells of a table with 18 columns are 0: only without them can it be read.
            cells = pd.DataFrame(np.where(table == 0, "", table.astype(str)), index=paper.parties)
            tables[title] = cells.rename(columns=lambda g: str(g + 1)).reset_index(names="cluster")
        off["items off the paper's table"] = [paper.distance(party, one.labels) for one in optima]
    chains = [*(draws.chain(c) for c in range(draws.n_chains)), draws]
    tables["Chain by chain"] = pd.DataFrame(
        {
            "draws": [*(f"chain {c + 1}" for c in range(draws.n_chains)), "all"],
            "peak of the number of clusters": [_peak(chain) for chain in chains],
            "clusters of VI-optimum": [estimate.n_clusters for estimate in optima],
            "expected VI": [f"{estimate.expected_loss:.4f}" for estimate in optima],
            **off,
        }
    )
    # A partition of higher posterior need not be optimal, as the paper says.
    labels, least = found.trace.map_labels, found.best.expected_loss
    values = {f"best with {k} clusters": best.expected_loss for k, best in found.by_k.items()}
    values[f"of highest posterior: {labels.max() + 1} clusters"] = expected_loss(
        labels, draws, "vi"
    )
    tables["Expected loss by number of clusters"] = pd.DataFrame(
        [(name, f"{x:.4f}", f"{max(0.0, x / least - 1):.2%}") for name, x in values.items()],
        columns=["partition", "expected VI", "above the optimum"],
    )
    runs: dict[str, Sequence[Any]] = {**found.greedy, "our search": found.by_chain[:1]}
    tables["The greedy algorithm on the draws of the first chain"] = pd.DataFrame(
        [_greedy_row(name, some, found) for name, some in runs.items()],
        columns=[
            "start",
            "runs",
            "best VI",
            "clusters",
            "worse than our search",
            "CPU time of a run",
        ],
    )
    return tables


def _greedy_row(name: str, runs: Sequence[Any], found: Analysis) -> tuple[Any, ...]:
    """Runs from one kind of start: their number, losses and numbers of clusters, compared with our search."""
    losses, ks = [run.expected_loss for run in runs], Counter(run.n_clusters for run in runs)
    n_worse = sum(loss > found.by_chain[0].expected_loss * (1 + 1e-9) for loss in losses)
    often = ", ".join(f"{k} ({n}x)" for k, n in sorted(ks.items()))
    return name, len(runs), f"{min(losses):.4f}", often, n_worse, f"{found.cpu[name]:.3g} s"


def _peak(draws: Draws) -> str:
    """The most probable number of clusters and its probability: '4 (31%)'."""
    found = n_clusters_posterior(draws)
    return f"{found.mode} ({found.probabilities.max():.0%})"
