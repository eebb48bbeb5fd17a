"""Pages of tests do not wait for proofs, and no page depends on how fast the machine is."""

from functools import partial

import numpy as np
import pytest

from epluribus import report
from epluribus.report import facts
from epluribus.uncertainty import _certificate
from epluribus.uncertainty._vi_bound import Found


@pytest.fixture(scope="package", autouse=True)
def _no_long_proofs():
    """The bound by prices takes all the time that it is given, so that it would differ from page to page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "_PROOF_SECONDS", 1e6)
        patch.setattr(_certificate, "vi_bound", lambda *_: Found(-np.inf, "settled", 0.0))
        patch.setattr(_certificate, "FEW", (5,))
        patch.setattr(_certificate, "MORE", ())
        yield


@pytest.fixture
def page_has(monkeypatch):
    """Leave out the steps that a test does not look at, by the field of `Facts`, without a note."""

    def page_has(*steps):
        others = set(facts._STEP_NAMES).difference(steps)
        monkeypatch.setattr(report, "gather", partial(facts.gather, skip=others))

    return page_has
