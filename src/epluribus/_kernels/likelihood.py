"""What moves ask of a model: one function, for built-in models and for those of the user; and the log target.

With S the set of items that are in, and p their partition, ``ask(what, i, g, m)`` does, for `what`,

    REMOVE    take item i out of its cluster, which closes if empty
    PREDICT   return log p(data of S and i, given i in g) - log p(data of S); cluster g is in use or the next new one
    WEIGH     after REMOVE or PREDICT of i: write the same into `logs`, for all clusters in use and the next new one
    ADD       after REMOVE or PREDICT of i: put it into cluster g, which opens if it is the next new one

REMOVE and ADD return the same difference as PREDICT. A model sees the sizes without item i, whose label is then -1.

The function of a user, ``m.model``, is called as ``model(what, i, g, m)`` with PREDICT, ADD and REMOVE, and changes
nothing but `stat`. Compiled by ``numba.njit`` it is compiled into the loop of the moves, once in each process.
"""

from numba import types
from numba.extending import overload

from epluribus._kernels.jit import OPTIONS, part
from epluribus._kernels.mixtures import discrete, full_gaussian, gaussian
from epluribus._kernels.networks import change_blocks, count_links
from epluribus._kernels.states import (
    ADD,
    COUNT,
    FULL,
    GAUSSIAN,
    LABEL,
    LOG_SIZE,
    LOG_WEIGHT,
    MEMBER,
    ORDER,
    PLACE,
    PREDICT,
    REMOVE,
    SIZE,
    TARGET,
    WEIGH,
    WEIGHT,
    by_address,
)


def ask(what, i, g, m):
    """What the model answers."""
    return (_built_in if isinstance(m.model, int) else _of_user)(what, i, g, m)


@overload(ask, jit_options=OPTIONS)  # type: ignore[arg-type]
def _ask(what, i, g, m):
    """The same in compiled code: chosen by the type of the model."""
    return _built_in if isinstance(m.field_dict["model"], types.Integer) else _of_user


def _built_in(what, i, g, m):
    """A built-in model, by its number."""
    own, a = m.own, _begin(what, i, g, m)
    b = n_choices(m) if what == WEIGH else a + 1
    if m.model == GAUSSIAN:
        value = gaussian(what, i, a, b, m)
    elif m.model < FULL:
        value = discrete(what, i, a, b, m)
    elif m.model == FULL:
        value = full_gaussian(what, i, own[PLACE, g], a, b, m)
    else:
        if what in (REMOVE, PREDICT):
            count_links(i, m)
        value = change_blocks(what, i, a, b, m)
    _end(what, i, a, m)
    return value


def _of_user(what, i, g, m):
    """A function of the user, cluster by cluster."""
    a = _begin(what, i, g, m)
    b = n_choices(m) if what == WEIGH else a + 1
    value = 0.0
    for s in range(a, b):
        value = m.model(PREDICT if what == WEIGH else what, i, m.own[ORDER, s], m)
        m.logs[WEIGHT, s] = value
    _end(what, i, a, m)
    return value


@part
def n_choices(m):
    """The number of clusters that an item may join: those in use and a new one, if there can be one more."""
    return min(m.own[COUNT, 0] + 1, m.own[COUNT, 1])


@part
def _begin(what, i, g, m):
    """Take the item out or open its cluster; return the place of the cluster in `ORDER`, the first one for WEIGH."""
    own = m.own
    if what == REMOVE:
        g = own[LABEL, i]
        own[LABEL, i] = -1
        own[SIZE, g] -= 1
    if what == ADD and own[PLACE, g] == own[COUNT, 0]:
        own[COUNT, 0] += 1  # before: the model goes through the clusters in use, g among them
    place = own[PLACE, g]
    return 0 if what == WEIGH else place


@part
def _end(what, i, place, m):
    """Put the item in, or close its cluster if that is empty."""
    own = m.own
    g = own[ORDER, place]
    if what == ADD:
        own[SIZE, g] += 1
        own[LABEL, i] = g
    elif what == REMOVE and own[SIZE, g] == 0:
        # An empty cluster is swapped with the last non-empty one. It becomes the next new cluster, so an item that
        # was alone finds its old cluster again as the new one.
        k = own[COUNT, 0] - 1
        last = own[ORDER, k]
        own[ORDER, place], own[PLACE, last] = last, place
        own[ORDER, k], own[PLACE, g] = g, k
        own[COUNT, 0] = k


# --- what several moves need ---


@part
def grow(n, m):
    """Log prior ratio of a cluster of n + 1 items to one of n, without the factor for K."""
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
