"""What the tests of reading and writing share."""

import warnings

import numpy as np
import pytest

import epluribus as epl

Z3 = np.random.default_rng(0).integers(1, 4, size=(2, 5, 4))
"""(chain, draw, item), labels counted from 1."""
Z = Z3.reshape(10, 4)
MU = np.random.default_rng(1).normal(size=(2, 5, 3))


def same(draws, chains=2):
    """The draws of `Z3`, with its chains, or as one."""
    ref = epl.Draws(Z3 if chains == 2 else Z)
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(ref))
    np.testing.assert_array_equal(draws.chains, ref.chains)
    return draws


def import_arviz():
    """ArviZ of either generation; the first says at each import that the second is near."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing a major refactor")
        return pytest.importorskip("arviz", reason="ArviZ is not installed")


def arviz_object(**variables):
    """An InferenceData or a DataTree, by the version installed, with a group `posterior`."""
    arviz = import_arviz()
    if int(arviz.__version__.partition(".")[0]) >= 1:
        return arviz.from_dict({"posterior": variables})
    return arviz.from_dict(posterior=variables)
