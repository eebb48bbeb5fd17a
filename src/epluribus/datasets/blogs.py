"""Links between 196 French political blogs, October 2006: downloaded on first use, not built in.

The network is `blog` of the R package mixer (GPL >= 2 as a whole, no separate license for the
data), so it is not distributed here.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import IntArray
from epluribus._validate import need

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
