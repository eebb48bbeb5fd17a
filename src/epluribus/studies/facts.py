"""What the paper states about its three applications (section 6), as data.

Tables have a row for each party and a column for each cluster, in the order in which they are printed. Times
are those of the authors' machine and program, kept as text.

References
----------
Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epluribus._typing import IntArray


def _table(text: str) -> IntArray:
    """A confusion table from its printed rows, one line of numbers for each; empty text gives no rows."""
    return np.array([row.split() for row in text.strip().splitlines()], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Facts:
    """What the paper states about one application."""

    name: str
    """Name of the study, as the command line takes it."""
    title: str
    """Title of the page."""
    section: str
    """Section of the paper."""
    n_items: int
    """Number of items that are clustered."""
    items: str
    """What the items are called, in the plural."""
    k_max: int
    """Largest number of clusters of the greedy algorithm, K_up in the paper."""
    k_mode: int
    """Where the posterior of the number of clusters peaks."""
    k_optimal: int
    """Clusters of the VI-optimal partition."""
    sample_time: str
    """Time of the sampler, as printed."""
    greedy_time: str
    """Average of one run of the greedy algorithm, as printed."""
    n_draws: int = 10_000
    """Draws of the paper's single chain."""
    burn_in: int = 1_000_000
    """Steps before the first draw."""
    thin: int = 100
    """Steps from draw to draw."""
    table: IntArray = field(default_factory=lambda: _table(""))
    """Confusion table of the parties (rows) and the VI-optimal clusters."""
    reference_table: IntArray = field(default_factory=lambda: _table(""))
    """The same for the paper's variational partition."""


GALAXIES = Facts(
    "galaxies", "Galaxies: 82 velocities", section="6.1", n_items=82, items="galaxies",
    # Printed: a peak at 4 and an optimum with 3 clusters; the partition is shown as a picture only.
    k_max=50, k_mode=4, k_optimal=3, sample_time="45 s", greedy_time="5 s",
)  # fmt: skip

PARTIES_OF_BLOGS = (
    "Cap21", "Commentateurs Analystes", "FN - MNR - MPF", "Les Verts", "PCF - LCR", "PCF LCR", "PS",
    "Parti Radical de Gauche", "UDF", "UMP", "liberaux",
)  # fmt: skip
"""The rows of the two tables, in the paper's order (which writes CA and PRG for the long names)."""

BLOGS = Facts(
    "blogs", "French political blogs: 196 nodes, 1432 links", section="6.2", n_items=196, items="blogs",
    # Printed: a peak at 17 and an optimum with 18 clusters. The first table has 18 columns, the second 12.
    # The rows are in the order of PARTIES_OF_BLOGS; each table adds up to 196 blogs.
    k_max=50, k_mode=17, k_optimal=18, sample_time="5 hours", greedy_time="50 s",
    table=_table(
        """
        0 0 0  0  0 0  0 0  0  0  0 0  0 0 2 0 0 0
        1 0 0  0  0 0  0 0  0  0  0 0  0 3 0 6 0 1
        0 0 0  0  0 0  0 0  0  0  0 0  0 0 4 0 0 0
        0 0 0  0  0 0  0 0  2  0  0 0  0 0 5 0 0 0
        0 1 0  0  0 0  0 0  0  0  0 0  0 0 5 0 0 0
        0 0 0  0  0 0  0 0  0  0  0 0  0 0 1 0 0 0
        0 0 0 15  0 2  0 0 13 18  0 0  0 0 5 1 3 0
        0 1 1  0  0 0  0 0  0  0  0 0  0 0 9 0 0 0
        0 0 0  0  0 0  0 6  0  0  1 0 24 0 0 0 0 1
        0 0 0  0  0 0 11 0  0  0 21 3  2 0 0 3 0 0
        0 0 0  0 24 0  0 0  0  0  1 0  0 0 0 0 0 0
        """
    ),
    reference_table=_table(
        """
        2  0 0  0  0 0  0  0 0 0  0 0
        0  0 8  0  0 0  0  0 0 0  0 3
        4  0 0  0  0 0  0  0 0 0  0 0
        5  0 2  0  0 0  0  0 0 0  0 0
        5  0 1  0  0 0  0  0 0 0  0 0
        1  0 0  0  0 0  0  0 0 0  0 0
        5  0 9  0  0 0 19 18 2 4  0 0
        9  0 1  0  0 0  0  1 0 0  0 0
        0  1 1  0 24 6  0  0 0 0  0 0
        1 24 2 11  2 0  0  0 0 0  0 0
        1  0 0  0  0 0  0  0 0 0 24 0
        """
    ),
)  # fmt: skip

PARTIES_OF_CONGRESS = ("democrat", "republican")
"""The rows of the table, in the paper's order."""

CONGRESS = Facts(
    "congress", "Congressional votes: 435 members, 16 issues", section="6.3", n_items=435,
    # Printed: 6 clusters both at the peak and in the optimum.
    items="members", k_max=30, k_mode=6, k_optimal=6, sample_time="30 hours", greedy_time="70 s",
    table=_table(
        """
        42 79 127  16  1 2
         4  6   0 125 30 3
        """
    ),
)  # fmt: skip
