"""What several moves need, and the log target from scratch."""

from epluribus._kernels.jit import part
from epluribus._kernels.likelihood import ask
from epluribus._kernels.states import (
    ADD,
    COUNT,
    LABEL,
    LOG_SIZE,
    LOG_WEIGHT,
    MEMBER,
    ORDER,
    PREDICT,
    REMOVE,
    SIZE,
    TARGET,
    by_address,
)


@part
def grow(g, m):
    """Log prior ratio of one more item in cluster g to none, without the factor for K."""
    n = m.own[SIZE, g]
    return m.logs[LOG_SIZE, n + 1] - m.logs[LOG_SIZE, n]


@part
def gather(n, g, m):
    """Put the first n members into cluster g; return the change of the log likelihood."""
    change = 0.0
    for s in range(n):
        i = m.own[MEMBER, s]
        if m.own[LABEL, i] != g:
            change -= ask(REMOVE, i, g, m)
            change += ask(ADD, i, g, m)
    return change


@part
def log_target(states, n_sides):
    """Log prior plus log marginal likelihood, all statistics recomputed from the labels.

    This removes the rounding errors that running sums accumulate. Clusters keep their numbers and order.
    """
    # The sides of a model share their statistics, so filling those of the first side fills all. Everything is taken
    # out; K and the order stay, since every cluster is filled again.
    m = by_address(states[0])
    for row in range(m.stat.shape[0]):
        for column in range(m.stat.shape[1]):
            m.stat[row, column] = 0.0
    for i in range(m.x.shape[0]):
        m.own[TARGET, i] = m.own[LABEL, i]
        m.own[LABEL, i] = -1
    for g in range(m.own[COUNT, 1]):
        m.own[SIZE, g] = 0
    # Log likelihood by the chain rule: log p(y_1) + log p(y_2 | y_1) + ..., given the labels.
    value = 0.0
    for i in range(m.x.shape[0]):
        g = m.own[TARGET, i]
        ask(PREDICT, i, g, m)  # before ADD, which needs what it counts
        value += ask(ADD, i, g, m)
    for side in range(n_sides):
        own, logs = states[side].own, states[side].logs
        log_prior = logs[LOG_WEIGHT, own[COUNT, 0]]
        for s in range(own[COUNT, 0]):
            log_prior += logs[LOG_SIZE, own[SIZE, own[ORDER, s]]]
        value += log_prior
    return value
