"""Data of the paper's applications.

Galaxies and congressional votes are on board; the French blogs are fetched and checked.
"""

from epluribus.datasets.blogs import FrenchBlogs, load_french_blogs
from epluribus.datasets.congress import CongressVotes, load_congress_votes
from epluribus.datasets.galaxies import load_galaxies

__all__ = [
    "CongressVotes",
    "FrenchBlogs",
    "load_congress_votes",
    "load_french_blogs",
    "load_galaxies",
]
