"""Functions chosen by the class of their first argument, in compiled and in plain code.

Two contracts of the package are sets of such functions: that of a model, on which every move of the
sampler works, and that of an execution of the search, on which sweeps and joins work (`engine`).

The loops call the functions of a contract. In compiled code the call is replaced by the function
registered for the class, at compile time; in plain Python the same table is read at run time.
Unlike closures over compiled functions, code compiled this way can be kept in the disk cache.

The contract of a model. S is the set of items assigned so far and p the partition of S:

    reset(m)               set the statistics to those of the empty set
    prepare(m, p, i)       i is unassigned: fill the scratch arrays that `logpred` and `add` read
    logpred(m, p, i, g)    log p(Y of S and i | i in g) - log p(Y of S | p); g in use or the next new one
    add(m, p, i, g)        update the statistics, return the same difference; g in use, perhaps empty
    remove(m, p, i, g)     the inverse of `add`: returns the same difference, leaves i prepared
    join(m, p, g, h)       log p(Y | g and h made one) - log p(Y | p), for two clusters in use while no item
                           is taken out; changes nothing
    guess(m, p, i, u)      optional; i is prepared: fill `p.log_weights[s]` with a positive number that says
                           how good a cluster `p.order[s]` may be for i, for the K clusters in use and the
                           next new one; u is a random number in [0, 1) to choose by
    smooth(m, p, n, g, h)  optional; the first n `p.members` are the items of clusters g and h: change their
                           `p.scores`, of either sign, so that items that belong together have one sign

In the calls with an item, `sizes` never counts i, and its label is -1: `add` is called before the size of
the cluster grows, `remove` after it has shrunk.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer, infer_global

from epluribus._kernels._jit import CALLED, INLINED, JIT_ENABLED
from epluribus._kernels.reference import by_reference


def _call_as(call: Callable[..., Any], find: Callable[[Any], Any]) -> None:
    """In kernels, calls of `call` go to the compiled function that `find` names for the first argument.

    Numba's `overload` does the same, but compiles a function once more for every constant argument.
    """

    class Template(AbstractTemplate):
        """Numba's description of the call."""

        key = call
        compiled: dict[Any, Any] = {}  # noqa: RUF012 - shared by all calls, as Numba makes many of these

        def generic(self, args: Any, kws: Any) -> Any:
            """The types of the call; this compiles the function."""
            dispatcher: Any = types.Dispatcher(find(args[0]))
            signature = dispatcher.get_call_type(
                self.context, tuple(map(types.unliteral, args)), kws
            )
            self.compiled[signature.args] = dispatcher.get_overload(signature)
            return signature

        def get_impl_key(self, signature: Any) -> Any:
            """What was compiled for these types."""
            return self.compiled[signature.args]

    infer(Template)  # type: ignore[no-untyped-call]
    infer_global(call, types.Function(Template))  # type: ignore[no-untyped-call]


def _jitable(function: Callable[..., Any], *, inline: bool) -> Callable[..., Any]:
    """Let kernels call the function compiled; to Python it stays a plain function."""
    if JIT_ENABLED:
        compiled = njit(**(INLINED if inline else CALLED))(function)
        _call_as(function, lambda _: compiled)
    return function


part = partial(_jitable, inline=True)
"""Decorator of a small part of a kernel: plain when Python calls it, compiled when a kernel does.

Always inlined."""

routine = partial(_jitable, inline=False)
"""The same for a longer part: compiled once for all kernels, which call it."""


class Contract:
    """Functions that every class of state must implement.

    A new class registers its functions once, when its module is imported; every loop then works on it.
    """

    def __init__(self, **arguments: int | Callable[..., Any]) -> None:
        """Names of the functions, each with the number of its arguments, the state included.

        An optional function has in place of the number what is done where a class does not implement it.
        """
        self._arguments = arguments
        self._table: dict[type, dict[str, Callable[..., Any]]] = {}

    def implement(self, state: type, **functions: Callable[..., Any]) -> None:
        """Register the functions for a class of state."""
        optional = {name: own for name, own in self._arguments.items() if callable(own)}
        functions = optional | functions
        missing = [name for name in self._arguments if name not in functions]
        unknown = [name for name in functions if name not in self._arguments]
        if missing or unknown:
            raise TypeError(
                f"'{state.__name__}' must implement exactly {', '.join(self._arguments)}; "
                f"missing: {missing or 'none'}, unknown: {unknown or 'none'}."
            )
        self._table[by_reference(state)] = dict(functions)

    def function(self, name: str, *, inline: bool) -> Callable[..., Any]:
        """The function with that name: it calls the one registered for the class of its first argument.

        With `inline` it is inlined into the loops, which suits short functions called very often.
        """

        # In plain Python the class is that of the object itself ...
        def call(state: Any, *arguments: Any) -> Any:
            return self._table[type(state)][name](state, *arguments)

        # ... while at compile time the argument is Numba's type of the state, which knows its class.
        compiled: dict[type, Any] = {}

        def find(state: Any) -> Any:
            kind = state.instance_class
            if kind not in compiled:
                compiled[kind] = njit(**(INLINED if inline else CALLED))(self._table[kind][name])
            return compiled[kind]

        if JIT_ENABLED:
            _call_as(call, find)
        call.__name__ = call.__qualname__ = name
        return call


def _guess_any(m: Any, p: Any, i: int, u: float) -> None:
    """All clusters are equally likely."""
    for s in range(min(p.n_clusters[0] + 1, p.order.size)):
        p.log_weights[s] = 1.0


def _smooth_none(m: Any, p: Any, n: int, g: int, h: int) -> None:
    """Scores stay as they are: coins."""


_MODEL = Contract(
    reset=1,
    prepare=3,
    logpred=4,
    add=4,
    remove=4,
    join=4,
    guess=_guess_any,
    smooth=_smooth_none,
)
implement = _MODEL.implement
reset = _MODEL.function("reset", inline=True)
prepare = _MODEL.function("prepare", inline=True)
logpred = _MODEL.function("logpred", inline=True)
add = _MODEL.function("add", inline=True)
remove = _MODEL.function("remove", inline=True)
join = _MODEL.function("join", inline=False)
guess = _MODEL.function("guess", inline=False)
smooth = _MODEL.function("smooth", inline=False)
