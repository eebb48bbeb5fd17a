import pytest

from epluribus.report import facts


@pytest.fixture(autouse=True)
def no_long_proofs(monkeypatch):
    """A lower bound takes all the time that it is given: the pages of tests give it little."""
    monkeypatch.setattr(facts, "_PROOF_SECONDS", 0.5)
