"""Shared by all tests: the cache of compiled kernels, the hypothesis profile, the data folder."""

import hashlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]


def _kernel_hash() -> str:
    """Numba does not see that a callee in another file changed, so each version has a cache of its own."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src/epluribus").rglob("_kernels/*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache" / _kernel_hash()))

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
    """Folder of data that are not on board; tests that need it are skipped without."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the data folder beside the checkout is not there")
    return folder
