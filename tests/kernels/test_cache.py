"""Compiled code on disk: beside the package, in the folder of the user, or nowhere."""

import importlib.util
import shutil

import pytest
from numba import config

from epluribus._kernels.jit import JIT_ENABLED

KERNEL = """
from epluribus._kernels.jit import kernel, part

@part
def sum_of(x, y):
    return x + y

@kernel
def double(x):
    return sum_of(x, x)
"""


class Package:
    """A module with one kernel; each `run` imports it anew, as a new process would."""

    def __init__(self, folder, monkeypatch):
        self.module, self.cache = folder / "own.py", folder / "__pycache__"
        self.user = folder / "user"
        self.module.write_text(KERNEL)
        monkeypatch.setattr(config, "CACHE_DIR", "")
        for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.setenv(name, str(self.user))

    def run(self):
        """How many variants were taken from the disk, and where the cache is."""
        spec = importlib.util.spec_from_file_location("own", self.module)
        own = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(own)
        assert [own.double(word) for word in (1, 1.5)] == [2, 3.0]
        return sum(own.double.stats.cache_hits.values()), own.double.stats.cache_path

    def forbid_package(self):
        # A file where the folder should be stops everybody, also those who may write everywhere.
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.touch()


@pytest.fixture
def package(tmp_path, monkeypatch):
    if not JIT_ENABLED:
        pytest.skip("nothing is compiled")
    return Package(tmp_path, monkeypatch)


def test_beside_the_package(package):
    assert package.run() == (0, str(package.cache))
    assert package.run() == (2, str(package.cache))


def test_read_only_installation_uses_the_folder_of_the_user(package):
    package.forbid_package()
    hits, where = package.run()
    assert hits == 0
    assert str(package.user) in where
    assert package.run() == (2, where)


def test_nothing_writable_compiles_in_memory(package):
    package.forbid_package()
    package.user.touch()
    for _ in range(2):
        with pytest.warns(UserWarning, match="cannot be kept: .* Set NUMBA_CACHE_DIR"):
            assert package.run() == (0, None)


def test_a_changed_file_is_compiled_again(package):
    package.run()
    package.module.write_text(KERNEL.replace("sum_of(x, x)", "2 * sum_of(x, 0)"))
    assert package.run()[0] == 0
    assert package.run()[0] == 2
