"""Data of the paper's applications.

Galaxies and congressional votes are built in. The French blogs are downloaded on first use and checked: the network is
`blog` of the R package mixer (GPL >= 2 as a whole, no separate license for the data), so it is not distributed here.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import FloatArray, IntArray
from epluribus._validate import need

__all__ = [
    "CongressVotes", "FrenchBlogs", "describe", "load_congress_votes", "load_french_blogs",
    "load_galaxies",
]  # fmt: skip


# A fixed commit of the CRAN mirror: its content cannot change, and the hash makes sure of it.
_COMMIT = "c80c26b4a3052b496138debefdc2f50c055c6268"
_URL = f"https://raw.githubusercontent.com/cran/mixer/{_COMMIT}/data/blog.rda"
_SHA256 = "4b42341b3be8573ad7b842bcf158d1db1a0d95051cae185c49c7f93acb715679"
_VARIABLE = "EPLURIBUS_DATA"
"""The environment variable that names a folder with the data."""
_TABLES = ("french_blogs_edges.csv", "french_blogs_nodes.csv")
"""The data as plain text, which needs no optional package."""
_PURPOSE = f"Loading the French blogs (unless {_VARIABLE} is a folder with {' and '.join(_TABLES)})"
"""What the packages of the extra `studies` are for."""


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


# --- French blogs ---


@dataclass(frozen=True, repr=False)
class FrenchBlogs:
    """Links and parties of the blogs. Their names are left out: many are names of persons."""

    edges: IntArray
    """(1432, 2) pairs i < j of linked blogs, counted from 0, sorted."""
    party: NDArray[np.str_]
    """(196,) party of each blog; 11 labels."""

    @property
    def n_nodes(self) -> int:
        """Number of blogs; two of them have no link."""
        return len(self.party)

    @property
    def adjacency(self) -> IntArray:
        """(196, 196) symmetric matrix of zeros and ones."""
        # The pairs i < j fill the upper triangle; adding the transpose fills the lower one.
        matrix = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int64)
        matrix[self.edges[:, 0], self.edges[:, 1]] = 1
        return matrix + matrix.T

    def __repr__(self) -> str:
        return f"FrenchBlogs({self.n_nodes} blogs, {len(self.edges)} links)"


def load_french_blogs(data: str | Path | None = None) -> FrenchBlogs:
    """Links between 196 French political blogs, a snapshot of 14 October 2006.

    Parameters
    ----------
    data : path, optional
        A folder with `french_blogs_edges.csv` (columns i, j) and `french_blogs_nodes.csv` (columns
        id, party), or with `blog.rda`; or that file itself. By default the folder named by the
        environment variable EPLURIBUS_DATA; if it is not set, `blog.rda` is downloaded from the public
        CRAN mirror (7.5 kB, checked by its hash) and kept in the user's cache folder. Reading `blog.rda`
        needs the extra `studies`: ``pip install "epluribus[studies]"``.

    Returns
    -------
    FrenchBlogs

    References
    ----------
    Zanghi, H., Ambroise, C., Miele, V. (2008). Fast online graph clustering via Erdos-Renyi
    mixture. Pattern Recognition 41, 3592-3599. doi:10.1016/j.patcog.2008.06.019

    Examples
    --------
    >>> from epluribus.datasets import load_french_blogs
    >>> blogs = load_french_blogs()  # doctest: +SKIP
    >>> blogs.n_nodes, len(blogs.edges)  # doctest: +SKIP
    (196, 1432)
    """
    # An empty variable counts as not set.
    if data is None:
        data = os.environ.get(_VARIABLE) or None
    if data is None:
        return _from_rda(_download())
    place = Path(data)
    if place.is_file():
        return _from_rda(place)
    # In a folder the plain tables come first: they need no optional package.
    edges, nodes = (place / name for name in _TABLES)
    if edges.is_file() and nodes.is_file():
        return _from_tables(edges, nodes)
    if (place / "blog.rda").is_file():
        return _from_rda(place / "blog.rda")
    raise FileNotFoundError(
        f"'data' must be a folder with {' and '.join(_TABLES)}, or with blog.rda; "
        f"{place} has neither. Get {_URL} and give its folder."
    )


def _from_tables(edges: Path, nodes: Path) -> FrenchBlogs:
    """The data from the two csv files."""
    pairs = np.loadtxt(edges, delimiter=",", skiprows=1, dtype=np.int64)
    # The name of a party may have a comma in it: only the first one separates.
    party = [line.split(",", 1)[1] for line in nodes.read_text("utf-8").splitlines()[1:]]
    return FrenchBlogs(edges=pairs, party=np.array(party))


def _download() -> Path:
    """The path of blog.rda in the user's cache folder, downloaded if it is not there."""
    pooch = need("pooch", "studies", _PURPOSE)
    name, cache = "mixer-blog.rda", pooch.os_cache("epluribus")
    try:
        path = pooch.retrieve(url=_URL, known_hash=f"sha256:{_SHA256}", fname=name, path=cache)
    # Whatever went wrong (no network, a proxy, a changed file), the way out is the same.
    except Exception as error:
        raise ConnectionError(
            "The French blogs are not built in and could not be downloaded "
            f"({type(error).__name__}: {error}). "
            f"Download {_URL} (sha256 {_SHA256}) on a machine with access, then call "
            f"load_french_blogs(data=FOLDER) or set {_VARIABLE}=FOLDER, where FOLDER is the folder "
            "with blog.rda."
        ) from error
    return Path(path)


def _from_rda(path: Path) -> FrenchBlogs:
    """The data from mixer's blog.rda, whose hash must be right."""
    # A user's own file is checked like a downloaded one: R's format runs no code, but a changed file would
    # change the study.
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != _SHA256:
        raise ValueError(
            f"'data' must be the blog.rda of mixer with sha256 {_SHA256}; {path} has {digest}. "
            f"Get {_URL}."
        )
    blog = need("rdata", "studies", _PURPOSE).read_rda(str(path))["blog"]
    links = np.asarray(blog["links"]) != 0
    party = np.array([str(name).strip() for name in np.asarray(blog["politicalParty"]).ravel()])
    # Each link once, from the smaller number to the larger.
    return FrenchBlogs(edges=np.argwhere(np.triu(links | links.T, 1)), party=party)


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
