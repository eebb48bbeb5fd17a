"""What a loss and a sample determine once and for all: the numbers from which kernels compute costs."""

from __future__ import annotations

import numpy as np

from epluribus._kernels.engine import Price
from epluribus._kernels.vector import BLOCK
from epluribus._typing import FloatArray
from epluribus.losses.base import Loss
from epluribus.partition import read_only

ROUNDING = (BLOCK / 4 + 4) * 2.0**-24
"""Largest relative error of a sum in single precision. A term is rounded when it is stored; a block of terms
is added four at a time, in BLOCK / 4 steps. Each rounding has a relative error of at most 2**-24."""


def make_price(loss: Loss, n_items: int, weights: FloatArray, group: FloatArray) -> Price:
    """f1, f2 and their differences; if f0 is linear, its coefficients are multiplied in.

    `group` is the sum of f3 over the clusters of each draw.
    """
    total = float(weights.sum())
    # If f0 is not linear, a cost is a sum of f0 over the draws. The usual ones are at most of order 1, so
    # rounding errors are far below this tolerance.
    f1, f2, _ = loss.tables(n_items)
    margin, rounding, tolerance = 0.0, 0.0, 1e-11 * total
    # Total loss = constant + sum_t w_t (form.joint sum f1 + form.size sum f2): the weights of the second
    # term add up here, those of the first differ by draw and are multiplied in by the execution.
    if loss.linear:
        form = loss.linear_form(n_items)
        f1, f2 = form.joint * f1, form.size * total * f2
    # Differences f(n + 1) - f(n), with a last entry that is never used.
    joint, size = np.append(np.diff(f1), 0.0), np.append(np.diff(f2), 0.0)
    if loss.linear:
        largest = np.abs(joint).max() * total
        margin = float(2 * ROUNDING * largest)  # twice, since two sums are compared
        if (joint >= 0.0).all() or (joint <= 0.0).all():
            rounding = 1.01 * ROUNDING  # it will be applied to a rounded sum
        # In double precision a cost is a sum of n_draws terms, with a rounding at each addition.
        tolerance = float(8 * len(weights) * 2.0**-53 * (largest + np.abs(size).max()))
    return Price(
        read_only(f1), read_only(f2), joint, size, weights, group, margin, rounding, tolerance
    )


def least_cost(price: Price, most: int) -> float:
    """What a cluster of at most `most` items, perhaps a new one, costs any item at least."""
    # In each draw it has between none and all of its items in the group of the item.
    joint = np.minimum.accumulate(price.joint[: most + 1])
    return float((price.size[: most + 1] + price.weights.sum() * joint).min())
