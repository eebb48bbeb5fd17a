"""Base clusterings as draws, in the conventions of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["NOISE", "is_ensemble", "place_noise", "stack_labels"]

NOISE = ("alone", "together")
_NOISE_LABEL = -1


def is_ensemble(value: Any) -> bool:
    """Whether `value` is a list of estimators rather than of labels."""
    return isinstance(value, list | tuple) and any(
        hasattr(one, "fit") or hasattr(one, "labels_") for one in value
    )


def stack_labels(estimators: Sequence[Any], noise: str = "alone") -> NDArray[Any]:
    """The labels of fitted estimators, one a row."""
    check_choice(noise, NOISE, "noise")
    rows: list[NDArray[Any]] = []
    for t, estimator in enumerate(estimators):
        labels = getattr(estimator, "labels_", None)
        if labels is None:
            name = type(estimator).__name__
            raise ValueError(
                f"'estimators' must be fitted and have 'labels_'; number {t} ({name}) has none. Fit "
                "it first; of one that only predicts, such as GaussianMixture, give what 'predict' returns: "
                "as a row of Draws, or as a column of X for ConsensusClustering."
            )
        rows.append(np.asarray(labels))
        if len(rows[t]) != len(rows[0]):
            raise ValueError(
                "'estimators' must be fitted to the same items; number 0 has "
                f"{len(rows[0])} labels and number {t} has {len(rows[t])}."
            )
    if not rows:
        raise ValueError("'estimators' must have at least one estimator; the list is empty.")
    return place_noise(np.array(rows), noise)


def place_noise(rows: NDArray[Any], noise: str) -> NDArray[Any]:
    """Items labelled -1 each alone, or together, in a table with one clustering a row."""
    if noise == "together" or rows.dtype.kind not in "if":
        return rows
    outside = rows == _NOISE_LABEL
    if not outside.any():
        return rows
    # Labels above all others: alone in their row, whatever they are called in the next.
    free = int(np.nanmax(rows)) + 1
    return np.where(outside, free + np.arange(rows.shape[1]), rows)
