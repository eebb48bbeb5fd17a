"""Whether chains agree, and how many independent draws they are worth: the one rule of the package.

`series` has R-hat and effective sample sizes, `similarity` the probabilities that items share a cluster,
`agreement` the rule that puts both together.
"""

from epluribus.diagnostics.agreement import Agreement, by_chain, chain_agreement
from epluribus.diagnostics.series import RHAT_LIMIT, Series, ess, rhat
from epluribus.diagnostics.similarity import Similarity

__all__ = [
    "RHAT_LIMIT", "Agreement", "Series", "Similarity", "by_chain", "chain_agreement", "ess", "rhat",
]  # fmt: skip
