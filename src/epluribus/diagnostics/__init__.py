"""Whether chains agree, and how many independent draws they are worth: the one rule of the package.

`series` has R-hat and effective sample sizes, `agreement` the rule, which also compares pairs of items.
"""

from epluribus.diagnostics.agreement import Agreement, chain_agreement
from epluribus.diagnostics.series import RHAT_LIMIT, Series, by_chain, ess, halves, rhat

__all__ = [
    "RHAT_LIMIT", "Agreement", "Series", "by_chain", "chain_agreement", "ess", "halves", "rhat",
]  # fmt: skip
