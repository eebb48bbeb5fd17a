"""Data of the paper's applications.

Galaxies and congressional votes are built in; the French blogs are downloaded and checked.
"""

from epluribus.datasets.blogs import FrenchBlogs, load_french_blogs
from epluribus.datasets.built_in import CongressVotes, load_congress_votes, load_galaxies

__all__ = [
    "CongressVotes", "FrenchBlogs", "describe", "load_congress_votes", "load_french_blogs",
    "load_galaxies",
]  # fmt: skip

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
