"""Shared by all tests: the hypothesis profile, the data folder, figures closed after each test."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

settings.register_profile("default", max_examples=25, deadline=None, derandomize=True)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def _close_figures():
    """Pyplot keeps every figure, and warns of more than twenty."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture
def shared_data() -> Path:
    """Folder of data that are not in the repository; tests that need it are skipped without."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the data folder beside the checkout is not there")
    return folder
