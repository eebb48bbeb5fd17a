"""Votes of 435 members of the House of Representatives on 16 issues, 1984."""

from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

__all__ = ["CongressVotes", "load_congress_votes"]


@dataclass(frozen=True, repr=False)
class CongressVotes:
    """Votes, parties and issues."""

    votes: NDArray[np.str_]
    """(435, 16) 'y', 'n', or '?' where no position was made known."""
    party: NDArray[np.str_]
    """(435,) 'democrat' or 'republican'."""
    issues: tuple[str, ...]
    """Names of the 16 issues."""

    @property
    def yeas(self) -> NDArray[np.int64]:
        """(435, 16) 1 for 'y', 0 for 'n' and '?', as in the paper."""
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
    path = resources.files("epluribus.datasets").joinpath("data/congress_votes.csv")
    rows = [line.split(",") for line in path.read_text("utf-8").split()]
    table = np.array(rows[1:])
    return CongressVotes(votes=table[:, 1:], party=table[:, 0], issues=tuple(rows[0][1:]))
