"""Velocities of 82 galaxies in the Corona Borealis region (Roeder 1990)."""

from importlib import resources

import numpy as np
from numpy.typing import NDArray

__all__ = ["load_galaxies"]


def load_galaxies() -> NDArray[np.float64]:
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
    text = resources.files("epluribus.datasets").joinpath("data/galaxies.csv").read_text("utf-8")
    return np.array(text.split()[1:], dtype=np.float64)
