"""What moves ask of a model: one function, for built-in models and for those of the user.

With S the set of items that are in, and p their partition, ``ask(what, i, g, m)`` does, for `what`,

    REMOVE    take item i out of its cluster, which closes if empty
    PREDICT   return log p(data of S and i, given i in g) - log p(data of S); cluster g is in use or the next new one
    WEIGH     after REMOVE or PREDICT of i: write the same into `logs`, for all clusters in use and the next new one
    ADD       after REMOVE or PREDICT of i: put it into cluster g, which opens if it is the next new one
    JOIN      return log p(data, clusters i and g made one) - log p(data), while no item is out
    SMOOTH    change the scores of the members, which are the items of clusters i and g, so that items that belong
              together have one sign; a model may leave them as they are

REMOVE and ADD return the same difference as PREDICT. A model sees the sizes without item i, whose label is then -1.

The function of a user, ``m.model``, is called as ``model(what, i, g, h, m)`` with PREDICT, ADD and REMOVE, which change
nothing but `stat`, and with JOIN of clusters g and h. Compiled by ``numba.njit`` it is compiled into the loop of the
moves, once in each process.
"""

from numba import types
from numba.extending import overload

from epluribus._kernels.columns import discrete, gaussian, join_columns
from epluribus._kernels.full_gaussian import full_gaussian, join_full
from epluribus._kernels.jit import OPTIONS, part
from epluribus._kernels.networks import change_blocks, count_links, join_blocks, smooth
from epluribus._kernels.states import (
    ADD,
    COUNT,
    FULL,
    GAUSSIAN,
    JOIN,
    LABEL,
    LATENT,
    ORDER,
    PLACE,
    PREDICT,
    REMOVE,
    SIZE,
    SMOOTH,
    WEIGH,
    WEIGHT,
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
    a = _begin(what, i, g, m)
    b = n_choices(m) if what == WEIGH else a + 1
    value = 0.0
    if what == JOIN:
        if m.model < FULL:
            value = join_columns(i, g, m)
        else:
            value = join_full(i, g, m) if m.model == FULL else join_blocks(i, g, m)
    elif what == SMOOTH:
        if m.model > FULL and m.model != LATENT:
            smooth(i, g, m)
    elif m.model == GAUSSIAN:
        value = gaussian(what, i, a, b, m)
    elif m.model < FULL:
        value = discrete(what, i, a, b, m)
    elif m.model == FULL:
        value = full_gaussian(what, i, a, b, m)
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
    if what == JOIN:
        value = m.model(what, -1, i, g, m)
    elif what != SMOOTH:
        for s in range(a, b):
            value = m.model(PREDICT if what == WEIGH else what, i, m.own[ORDER, s], -1, m)
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
