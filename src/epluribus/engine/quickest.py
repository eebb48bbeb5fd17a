"""The executions for draws without missing labels, and which is the quickest for a sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import IntArray
from epluribus.engine.execution import Execution
from epluribus.engine.members import MemberExecution
from epluribus.engine.pairs import PairExecution, pairs_pay
from epluribus.engine.tables import TableExecution, tables_pay
from epluribus.losses.base import Loss

EXECUTIONS: dict[str, Callable[..., Execution]] = {
    "tables": TableExecution,
    "members": MemberExecution,
    "pairs": PairExecution,
}


def quickest(table: NDArray[np.unsignedinteger[Any]], n_groups: IntArray, loss: Loss) -> str:
    """The execution that is quickest for a sample whose draws have `n_groups` clusters."""
    if pairs_pay(table, n_groups, loss):
        return "pairs"
    return "tables" if tables_pay(table, n_groups, loss) else "members"
