"""Draws in a file, with names of items."""

import numpy as np
import pytest

import strategies


@pytest.fixture(scope="package")
def z():
    return strategies.random_draws(np.random.default_rng(0), 20, 12, 3)


@pytest.fixture(scope="package")
def draws_file(z, tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "draws.csv"
    names = ",".join(f"item {i}" for i in range(z.shape[1]))
    np.savetxt(path, z, fmt="%d", delimiter=",", header=names, comments="")
    return path
