"""An edited kernel recompiles what depends on it, although Numba alone would not notice."""

import shutil
import subprocess
import sys
from pathlib import Path

import epluribus

CALLER = """
from epluribus._kernels._jit import kernel
from epluribus._kernels.callee import inner

@kernel
def outer(x):
    return inner(x) + 1.0
"""
CALLEE = """
from epluribus._kernels._jit import kernel

@kernel
def inner(x):
    return {factor} * x
"""
CALL = "from epluribus._kernels.caller import outer; print(outer(3.0), len(outer.stats.cache_hits))"


def test_editing_a_kernel_recompiles_its_callers(tmp_path, monkeypatch):
    """A copy of the kernels with two more, one calling the other in another file."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    package = tmp_path / "epluribus"
    source = Path(epluribus.__file__).parent / "_kernels"
    (package / "_kernels").mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("__init__.py", "_compiler.py", "_jit.py", "_store.py"):
        shutil.copy(source / name, package / "_kernels" / name)
    (package / "_kernels" / "caller.py").write_text(CALLER)

    def run(factor):
        (package / "_kernels" / "callee.py").write_text(CALLEE.format(factor=factor))
        # Without -B, Python itself may not notice a change within a second that keeps the size of a file.
        command = [sys.executable, "-B", "-c", CALL]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        value, hits = out.stdout.split()
        return float(value), int(hits)

    assert run(2.0) == (7.0, 0)
    assert run(2.0) == (7.0, 1)  # nothing changed: taken from the disk
    assert run(5.0) == (16.0, 0)  # only the file of `inner` changed, and `outer` follows
    # Another version of Numba: compiled without our own steps.
    (package / "_kernels" / "_compiler.py").write_text("raise AttributeError")
    assert run(5.0) == (16.0, 0)
