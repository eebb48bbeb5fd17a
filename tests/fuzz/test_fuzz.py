"""A short run of the fuzzer; `make fuzz` is the long one."""

import pytest


def test_a_few_cases():
    for package in ("networkx", "pandas", "pyarrow", "rdata", "xarray", "zarr"):
        pytest.importorskip(package)
    from run_fuzz import fuzz

    assert fuzz(240, 1, show=lambda _: None) == []
