"""One order of arguments: the estimate before the draws."""

import inspect
from functools import cache
from importlib import import_module

import numpy as np

import epluribus as epl

Z = np.array([[0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 2]])
DRAWS = epl.Draws(Z)

ROOMS = (
    "", "datasets", "diagnostics", "draws", "estimate", "losses", "models", "partition",
    "plots", "report", "sampling", "search", "studies", "uncertainty", "writers", "writers.results",
)  # fmt: skip
PARTITIONS = ("best", "labels", "a", "b", "estimate")
"""What a partition is called that a function is asked about."""


@cache
def estimate():
    return epl.minimize(DRAWS, rng=1)


def public_functions():
    """Every function and method that has a name without an underscore, by its full name."""
    for room in ROOMS:
        module = import_module(f"epluribus.{room}".rstrip("."))
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name)
            if name.startswith("_") or not getattr(thing, "__module__", "").startswith("epluribus"):
                continue
            if inspect.isfunction(thing):
                yield f"{room}.{name}", thing
            elif inspect.isclass(thing):
                for own, method in inspect.getmembers(thing, callable):
                    if not own.startswith("_") and inspect.isroutine(method):
                        yield f"{room}.{name}.{own}", method


def test_the_estimate_comes_before_the_draws_in_all_public_functions():
    seen, wrong = 0, []
    for name, function in public_functions():
        try:
            parameters = inspect.signature(function).parameters.values()
            arguments = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
        except ValueError:  # written in C
            continue
        places = [arguments.index(one) for one in PARTITIONS if one in arguments]
        if "draws" in arguments and places:
            seen += 1
            # A search takes draws, and labels to begin with.
            if max(places) > arguments.index("draws") and name != "search.merge":
                wrong.append((name, arguments))
    assert not wrong
    assert seen > 25


def test_the_estimate_is_an_option_where_the_draws_are_enough():
    found = epl.uncertainty.n_clusters_posterior(Z)
    assert (found.mode, found.estimate) == (2, None)
    assert epl.uncertainty.n_clusters_posterior(Z, best=estimate()).estimate == 3
    assert len(epl.plots.n_clusters(DRAWS).patches) == 2
