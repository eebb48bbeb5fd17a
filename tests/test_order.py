"""One order of arguments: the estimate before the draws."""

import inspect
from importlib import import_module

import epluribus as epl

MODULES = ("", "diagnostics", "plots", "page", "search", "uncertainty", "writers")
PARTITIONS = ("best", "labels", "a", "b", "estimate")
"""What a partition is called that a function is asked about."""


def test_the_estimate_comes_before_the_draws_in_all_public_functions():
    seen = set()
    for room in MODULES:
        module = import_module(f"epluribus.{room}".rstrip("."))
        for name in getattr(module, "__all__", dir(module)):
            function = getattr(module, name)
            # A search takes draws, and labels to begin with.
            if name.startswith("_") or not inspect.isfunction(function) or name == "merge":
                continue
            parameters = inspect.signature(function).parameters.values()
            arguments = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
            places = [arguments.index(one) for one in PARTITIONS if one in arguments]
            if "draws" in arguments and places:
                seen.add(name)
                assert max(places) < arguments.index("draws"), (name, arguments)
    assert len(seen) >= 19


def test_the_estimate_is_an_option_where_the_draws_are_enough():
    z = [[0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 2]]
    found = epl.uncertainty.n_clusters_posterior(z)
    assert (found.mode, found.estimate) == (2, None)
    assert epl.uncertainty.n_clusters_posterior(z, best=z[0]).estimate == 3
    assert len(epl.plots.n_clusters(None, z).patches) == 2
