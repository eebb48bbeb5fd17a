"""The skeleton of the developer page is a move in detailed balance."""

import re
import types
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import enumerate_paths
from sampler_cases import make_case

PAGE = Path(__file__).parents[2] / "docs" / "developer" / "new-move.md"


@pytest.fixture(scope="module")
def page():
    if not PAGE.is_file():
        pytest.skip("the documentation is not beside the tests")
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    [code] = [block for block in blocks if "def swap(" in block]
    module = types.ModuleType("new_move_page")
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    return module


@contextmanager
def in_place_of_the_moves(page):
    """`transition_matrix` makes the page's move and follows its choices."""

    @contextmanager
    def scripted(paths, **_):
        with mock.patch.multiple(page, pick=paths.pick, accept=paths.accept):
            yield

    def one_move(name, item, state):
        tally = np.zeros((page.SWAP_ROW + 1, 2), dtype=np.int64)
        return page.swap(None, tally, state)

    with mock.patch.multiple(enumerate_paths, scripted=scripted, one_move=one_move):
        yield


@pytest.mark.parametrize(
    ("kind", "prior"),
    [
        ("gaussian", "uniform"),
        ("gaussian", "fixed 2"),
        ("gaussian 2-d", "poisson"),
        ("sbm", "pitman-yor"),
        ("directed sbm", "dirichlet process"),
        ("lbm", "uniform"),
        ("custom", "geometric"),
    ],
)
def test_swap_is_in_detailed_balance(page, kind, prior):
    model, posterior = make_case(kind, prior, 3 if kind == "lbm" else 4)
    pi = np.array(list(posterior.values()))
    for side in range(len(model.sides)):
        with in_place_of_the_moves(page):
            P = enumerate_paths.transition_matrix(model, posterior, "swap", side)
        assert np.allclose(P.sum(axis=1), 1.0, atol=1e-12)
        flow = pi[:, None] * P
        assert np.abs(flow - flow.T).max() < 1e-14
        assert (flow - np.diag(np.diag(flow)) > 0).any()  # it moves


def test_the_row_of_the_tally_is_the_next_one(page):
    from epluribus._kernels.states import KINDS

    assert len(KINDS) == page.SWAP_ROW
