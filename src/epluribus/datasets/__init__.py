"""Data of the paper's applications.

Galaxies and congressional votes are on board.
"""

from epluribus.datasets.congress import CongressVotes, load_congress_votes
from epluribus.datasets.galaxies import load_galaxies

__all__ = ["CongressVotes", "load_congress_votes", "load_galaxies"]
