"""Pages of tests do not wait for proofs, and no page depends on how fast the machine is."""

from functools import partial

import pytest

from epluribus import page
from epluribus.page import facts
from epluribus.uncertainty import _certificate


@pytest.fixture(scope="module", autouse=True)
def _no_long_proofs():
    """The bound by prices for cluster sizes takes many seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_certificate, "MOST_ITEMS", 0)
        yield


@pytest.fixture
def page_has(monkeypatch):
    """Leave out the steps that a test does not look at, by the field of `Facts`, without a note."""

    def page_has(*steps):
        others = set(facts.STEPS).difference(steps)
        monkeypatch.setattr(page, "gather", partial(facts.gather, skip=others))

    return page_has
