from pathlib import Path

import pytest

import epluribus as epl

DOCS = Path(__file__).parents[2] / "docs" / "uncertainty.md"


def test_page_names_every_function():
    text = DOCS.read_text(encoding="utf-8")
    for name in epl.uncertainty.__all__:
        if name[0].islower():
            assert f"epl.uncertainty.{name}(" in text


@pytest.mark.slow
def test_sparse_similarity_of_20000_items_stays_small():
    import resource

    import numpy as np

    rng = np.random.default_rng(0)
    truth = rng.integers(20, size=20_000)
    noise = rng.random((200, 20_000)) < 0.1
    draws = epl.Draws(np.where(noise, rng.integers(20, size=noise.shape), truth))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    matrix = epl.uncertainty.psm(draws, sparse=True)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert matrix.nnz < 0.1 * 20_000**2
    assert after - before < 1.5e6  # kB; the dense matrix would take 3.2 GB
