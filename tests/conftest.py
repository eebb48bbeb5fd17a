"""Shared by all tests: the hypothesis profile, draws, the data folder, Ctrl-C, closing of figures."""

import os
import shutil
import signal
import sys
import zlib
from pathlib import Path

# Two processes that run tests on two cores would mostly wait for the threads of each other's matrix products.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
# Numba compiles a kernel again when its own file changes, not when one that it calls does: a folder for each state.
_KERNELS = sorted((ROOT / "src" / "epluribus" / "_kernels").glob("*.py"))
_STATE = zlib.crc32(b"".join(path.read_bytes() for path in _KERNELS))
_FOLDER = Path(os.environ.get("NUMBA_CACHE_DIR", ROOT / ".kernels" / f"{_STATE:08x}"))
# And one for each process that runs tests: if two write compiled code of the same function for different types at
# the same time, Numba's index may name the one for the other. Workers begin with a copy of what the process that
# starts them has, whose folder is in the environment by now.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    _OWN = _FOLDER.with_name(worker)
    if _FOLDER.exists() and not _OWN.exists():
        shutil.copytree(_FOLDER, _OWN)
else:
    _OWN = _FOLDER / "main"
os.environ["NUMBA_CACHE_DIR"] = str(_OWN)

import strategies  # noqa: E402

collect_ignore = ["mutants.py"]  # run by `make mutants`; needs a package that the tests do not

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


@pytest.fixture
def hears_ctrl_c():
    """Also where the tests were started in the background, by a shell that makes them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def z():
    """Draws of 12 items."""
    return strategies.random_draws(np.random.default_rng(0), 20, 12, 3)


@pytest.fixture(scope="session")
def draws_file(z, tmp_path_factory):
    """The same in a file, with names of items."""
    path = tmp_path_factory.mktemp("draws") / "draws.csv"
    names = ",".join(f"item {i}" for i in range(z.shape[1]))
    np.savetxt(path, z, fmt="%d", delimiter=",", header=names, comments="")
    return path
