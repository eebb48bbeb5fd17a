"""Data of the paper's applications.

Galaxies and congressional votes are on board; the French blogs are fetched and checked.
"""

from epluribus.datasets.blogs import FrenchBlogs, load_french_blogs
from epluribus.datasets.congress import CongressVotes, load_congress_votes
from epluribus.datasets.galaxies import load_galaxies

__all__ = [
    "CongressVotes",
    "FrenchBlogs",
    "describe",
    "load_congress_votes",
    "load_french_blogs",
    "load_galaxies",
]


def describe() -> dict[str, str]:
    """The data sets with one line on each.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.datasets.describe()["galaxies"]
    'Velocities of 82 galaxies, in km/s, ascending.'
    """
    loaders = {
        "galaxies": load_galaxies,
        "congress": load_congress_votes,
        "blogs": load_french_blogs,
    }
    return {name: (loader.__doc__ or name).splitlines()[0] for name, loader in loaders.items()}
