"""The command that compiles beforehand what usual work needs."""

from types import SimpleNamespace

import numpy as np
from numba.core import event

import epluribus as epl
from epluribus.cli import main


def test_afterwards_nothing_is_left_to_compile(capsys):
    assert main(["warmup"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == ["search"] * 5 + ["sampler"] * 6
    assert lines[-1].startswith("compiled code")
    rng = np.random.default_rng(5)
    z = np.where(rng.random((300, 82)) < 0.8, np.arange(82) % 5, rng.integers(5, size=(300, 82)))
    with event.install_recorder("numba:compile") as compiled:
        epl.search.minimize_all(z, ["vi", "binder"], rng=1)
        epl.sample(epl.models.GaussianMixture(rng.normal(size=50)), n_draws=5, rng=1)
    assert not compiled.buffer


def test_ctrl_c_ends_it(capsys, monkeypatch):
    monkeypatch.setattr(epl, "minimize", lambda *_, **__: SimpleNamespace(interrupted=True))
    assert main(["warmup"]) == 130
    assert capsys.readouterr().out == "search: vi, 60 items\n"
