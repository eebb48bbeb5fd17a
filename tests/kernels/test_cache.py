"""Compiled code on disk: read-only installations, damaged files, two processes at once, upgrades."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from numba import config

from epluribus._kernels import _jit, _store

KERNEL = """
from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine

@routine
def same(x):
    return x

@part
def sum_of(x, y):
    return same(x) + y

@routine
def twice(x):
    return sum_of(x, same(x))

@kernel
def double(x):
    return twice(x)
"""
CALL = """
from own import double
assert [double(word) for word in (1, 1.5)] == [2, 3.0]
print(sum(double.stats.cache_hits.values()))
"""


class Package:
    """A module with one kernel; each `run` imports it anew, as a new process would."""

    def __init__(self, folder, monkeypatch):
        self.module, self.cache, self.user = (
            folder / "own.py",
            folder / "__pycache__",
            folder / "user",
        )
        self.module.write_text(KERNEL)
        monkeypatch.setattr(config, "CACHE_DIR", "")
        for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.setenv(name, str(self.user))
        self.monkeypatch = monkeypatch

    def run(self, words=(1.5,)):
        """How many variants were taken from the disk, and where the cache is."""
        spec = importlib.util.spec_from_file_location("own", self.module)
        own = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(own)
        assert [own.double(word) for word in words] == [word + word for word in words]
        return sum(own.double.stats.cache_hits.values()), own.double.stats.cache_path

    def upgrade(self):
        """The kernels of the package change: so does their hash."""
        self.monkeypatch.setattr(_jit, "_STAMP", "another version")
        self.monkeypatch.setattr(_store, "_tidied", set())

    def files(self, kind):
        return sorted(self.cache.glob(f"own.*.{kind}"))

    def forbid_package(self):
        # A file where the folder should be stops everybody, also those who may write everywhere.
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.touch()


@pytest.fixture
def package(tmp_path, monkeypatch):
    if not _jit.JIT_ENABLED:
        pytest.skip("nothing is compiled")
    return Package(tmp_path, monkeypatch)


def test_beside_the_package(package):
    assert package.run() == (0, str(package.cache))
    assert package.run() == (1, str(package.cache))


def test_read_only_installation_uses_the_folder_of_the_user(package):
    package.forbid_package()
    hits, where = package.run()
    assert hits == 0
    assert str(package.user) in where
    assert package.run() == (1, where)
    package.upgrade()
    assert package.run() == (0, where)
    assert package.run() == (1, where)


def test_nothing_writable_compiles_in_memory(package):
    package.forbid_package()
    package.user.touch()
    assert package.run() == (0, None)
    assert package.run() == (0, None)


def test_folder_that_goes_away_does_no_harm(package):
    spec = importlib.util.spec_from_file_location("own", package.module)
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    package.forbid_package()
    assert own.double(1.5) == 3.0


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_file_is_compiled_again(package, kind):
    package.run()
    (path,) = package.files(kind)
    data = path.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    for damaged in (b"", data[:middle], data[:-1], flipped):
        path.write_bytes(damaged)
        assert package.run()[0] == 0
        assert package.run()[0] == 1


def test_files_of_other_versions_are_removed(package):
    package.run((1, 1.5))
    before = {*package.files("nbi"), *package.files("nbc")}
    assert len(before) == 3
    # One line further down, so that the files have other names.
    package.module.write_text("\n" + KERNEL)
    package.upgrade()
    assert package.run()[0] == 0
    after = {*package.files("nbi"), *package.files("nbc")}
    assert len(after) == 2
    assert not after & before


SAME_NAMES = """
from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import routine

def add(n):
    @routine
    def plus(x):
        return x + n
    return plus

one, ten = add(1), add(10)

@kernel
def plus_one(x):
    return one(x)

@kernel
def plus_ten(x):
    return ten(x)
"""


def test_routines_of_one_name_from_different_processes_are_not_confused(package):
    package.module.write_text(SAME_NAMES)
    finish(start(package, "from own import *; print(plus_one(1))"))
    finish(start(package, "from own import *; print(plus_ten(1))"))
    both = "from own import *; assert plus_ten.stats.cache_path; print(1000 * plus_one(1) + plus_ten(1))"
    assert finish(start(package, both)) == 2011


def start(package, call=CALL, **env):
    unset = ("NUMBA_CACHE_DIR", "NUMBA_CPU_NAME")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", call],
        cwd=package.module.parent,
        env={**kept, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, error = process.communicate()
    assert process.returncode == 0, error
    return int(out)


def test_processes_at_once_and_another_processor(package):
    processes = [start(package), start(package), start(package, NUMBA_CPU_NAME="generic")]
    for process in processes:
        finish(process)
    # Each variant has a file of its own, for each processor: a folder may be shared by several machines.
    assert len(package.files("nbc")) == 4
    assert finish(start(package)) == 2
    assert finish(start(package, NUMBA_CPU_NAME="generic")) == 2
