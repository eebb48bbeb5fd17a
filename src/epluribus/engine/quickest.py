"""The executions for draws without missing labels, and which is the quickest for a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._typing import IntArray
from epluribus.engine.anchors import Anchors
from epluribus.engine.execution import Execution
from epluribus.engine.members import MemberExecution
from epluribus.engine.pairs import PairExecution, pairs_pay, units_of
from epluribus.engine.settings import Settings
from epluribus.engine.tables import TableExecution, tables_pay
from epluribus.losses.base import Loss


def make_execution(
    kind: str | None,
    table: NDArray[np.unsignedinteger[Any]],
    price: Price,
    loss: Loss,
    n_groups: IntArray,
    anchors: Anchors | None,
    settings: Settings,
) -> Execution:
    """The execution of this kind; by default the quickest for a sample whose draws have `n_groups` clusters.

    With anchors, there are those with tables, the default, and with pairs.
    """
    if anchors is not None:
        if kind == "pairs":
            return PairExecution(table, price, loss, anchors, settings)
        return TableExecution(table, price, loss, anchors)
    if kind is None:
        itemsize = units_of(price.weights)[1].itemsize
        if pairs_pay(table, n_groups, loss, itemsize):
            kind = "pairs"
        else:
            kind = "tables" if tables_pay(table, n_groups, loss) else "members"
    executions = {"tables": TableExecution, "members": MemberExecution, "pairs": PairExecution}
    made: Execution = executions[kind](table, price, loss)
    return made
