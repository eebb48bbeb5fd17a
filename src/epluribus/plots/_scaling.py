"""Classical scaling: points in the plane whose distances are as near as possible to given ones.

With D the n x n matrix of distances and C = I - 11'/n the centering matrix, the places are the first two
eigenvectors of -C D^2 C / 2 (squares taken entry by entry), times the square roots of their eigenvalues.

Torgerson, W. S. (1952). Multidimensional scaling: I. Theory and method. Psychometrika 17, 401-419.
doi:10.1007/BF02288916
"""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._typing import FloatArray


def scale(distances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places in the plane, and the share of each axis in the sum of the positive eigenvalues."""
    n = len(distances)
    center = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * center @ distances**2 @ center)
    # Largest first. Losses are not Euclidean distances: some eigenvalues may be negative.
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    two = np.zeros((n, 2))
    # A single point has one eigenvector.
    two[:, : min(n, 2)] = vectors[:, :2] * np.sqrt(values[:2])
    # The sign of an eigenvector is arbitrary: the first point is made to be left and low.
    two *= np.where(two[0] > 0, -1.0, 1.0)
    shares = np.zeros(2)
    shares[: min(n, 2)] = values[:2] / max(float(values.sum()), np.finfo(np.float64).tiny)
    return two, shares


def name_directions(ax: Any, shares: FloatArray, what: str) -> None:
    """Axes of one unit, whose labels say how much of the spread they show."""
    # One unit is as long across as up: distances can be read in any direction.
    ax.set_aspect("equal", adjustable="datalim")
    ax.locator_params(nbins=7)
    ax.set_xlabel(f"first direction: {100 * shares[0]:.0f} % of the spread ({what})")
    ax.set_ylabel(f"second direction: {100 * shares[1]:.0f} %")
    ax.spines[["top", "right"]].set_visible(False)
