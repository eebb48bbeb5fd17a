"""Data of the paper's applications.

Galaxies and congressional votes are built in; the French blogs are downloaded and checked.
"""

from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import FloatArray, IntArray
from epluribus.datasets.blogs import FrenchBlogs, load_french_blogs

__all__ = [
    "CongressVotes", "FrenchBlogs", "describe", "load_congress_votes", "load_french_blogs",
    "load_galaxies",
]  # fmt: skip


def _read_rows(name: str) -> list[list[str]]:
    """The cells of a csv file of this package, row by row."""
    # No cell has quotes or blanks in it, so splitting is enough.
    text = resources.files("epluribus.datasets").joinpath("data", name).read_text("utf-8")
    return [line.split(",") for line in text.split()]


def load_galaxies() -> FloatArray:
    """Velocities of 82 galaxies, in km/s, ascending.

    The values of `galaxies` in the R package MASS (Debian's r-cran-mass 7.3-58.2). The 78th value,
    26690, is a known slip for 26960 and is kept, as in the literature on mixtures. MASS states of
    its data files: "Our understanding is that the dataset files MASS/data/*.rda are not copyright."

    Returns
    -------
    ndarray of shape (82,)

    References
    ----------
    Roeder, K. (1990). Density estimation with confidence sets exemplified by superclusters and
    voids in the galaxies. JASA 85, 617-624. doi:10.1080/01621459.1990.10474918

    Postman, M., Huchra, J. P., Geller, M. J. (1986). Probes of large-scale structures in the Corona
    Borealis region. Astronomical Journal 92, 1238-1247. doi:10.1086/114257

    Examples
    --------
    >>> from epluribus.datasets import load_galaxies
    >>> velocity = load_galaxies()
    >>> velocity.size, float(velocity.min()), float(velocity.max())
    (82, 9172.0, 34279.0)
    """
    return np.array(_read_rows("galaxies.csv")[1:], dtype=np.float64).ravel()


@dataclass(frozen=True, repr=False)
class CongressVotes:
    """Votes of the members of the House, their parties, and the issues; see `load_congress_votes`."""

    votes: NDArray[np.str_]
    """(435, 16) 'y', 'n', or '?' where a member made no position known."""
    party: NDArray[np.str_]
    """(435,) 'democrat' or 'republican'."""
    issues: tuple[str, ...]
    """Names of the 16 issues."""

    @property
    def yeas(self) -> IntArray:
        """(435, 16) 1 for 'y', 0 for 'n' and '?': as in the paper, abstained and absent count as nay."""
        return (self.votes == "y").astype(np.int64)

    def __repr__(self) -> str:
        return f"CongressVotes({len(self.party)} members, {len(self.issues)} issues)"


def load_congress_votes() -> CongressVotes:
    """Votes of 435 members of the 98th Congress on 16 issues.

    The rows of `HouseVotes84` in the R package mlbench (Debian's r-cran-mlbench 2.1-3), which are
    those of the UCI Machine Learning Repository, data set 105 (CC BY 4.0).

    Returns
    -------
    CongressVotes

    References
    ----------
    Congressional Voting Records (1987). UCI Machine Learning Repository. doi:10.24432/C5C01P.
    Donor: J. Schlimmer. Source: Congressional Quarterly Almanac, 98th Congress, 2nd session 1984,
    volume XL.

    Examples
    --------
    >>> from epluribus.datasets import load_congress_votes
    >>> house = load_congress_votes()
    >>> int(house.yeas.sum()), int((house.party == "democrat").sum())
    (3421, 267)
    """
    head, *rows = _read_rows("congress_votes.csv")
    # The first column is the party, the others are the votes.
    table = np.array(rows)
    return CongressVotes(votes=table[:, 1:], party=table[:, 0], issues=tuple(head[1:]))


# The first line of each docstring is what `describe` and the command line show.
_LOADERS = {"galaxies": load_galaxies, "congress": load_congress_votes, "blogs": load_french_blogs}


def describe() -> dict[str, str]:
    """The data sets by name, with one line on each.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.datasets.describe()["galaxies"]
    'Velocities of 82 galaxies, in km/s, ascending.'
    """
    return {name: (loader.__doc__ or name).splitlines()[0] for name, loader in _LOADERS.items()}
