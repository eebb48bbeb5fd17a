"""One order of arguments: the estimate before the draws."""

import inspect
import warnings
from functools import cache
from importlib import import_module

import numpy as np
import pytest
import xarray as xr

import epluribus as epl
from epluribus._order import _likeness

Z = np.array([[0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 2]])
DRAWS = epl.Draws(Z)

ROOMS = (
    "", "datasets", "diagnostics", "draws", "estimate", "losses", "models", "partition",
    "plots", "report", "sampling", "search", "studies", "uncertainty", "writers", "writers.results",
    "writers.saved",
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
            arguments = list(inspect.signature(function).parameters)
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


BOTH = {
    "align": epl.align,
    "n_clusters_posterior": epl.uncertainty.n_clusters_posterior,
    "similarity": epl.plots.similarity,
    "n_clusters": epl.plots.n_clusters,
    "partition_map": epl.plots.partition_map,
}


def content(result):
    """What can be compared: a text, or the numbers of a picture."""
    if isinstance(result, epl.uncertainty.Alignment | epl.uncertainty.NClusters):
        return str(result)
    boxes = [patch.get_bbox().bounds for patch in result.patches if hasattr(patch, "get_bbox")]
    return (
        [image.get_array().tolist() for image in result.images]
        + boxes
        + [points.get_offsets().tolist() for points in result.collections]
        + [text.get_text() for text in result.texts]
    )


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    "given",
    [
        lambda: (estimate(), DRAWS),
        lambda: (estimate().labels.tolist(), Z.tolist()),
        lambda: (estimate().labels[None], Z),
    ],
    ids=["estimate", "lists", "arrays"],
)
def test_the_old_order_works_with_a_warning_that_names_the_new_one(name, given):
    function, (best, draws) = BOTH[name], given()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = content(function(best, draws))
        assert content(function(best=best, draws=draws)) == expected
        assert content(function(draws, best=best)) == expected
        assert content(function(best, draws=draws)) == expected
    with pytest.warns(
        DeprecationWarning, match=rf"write (plots|uncertainty)\.{name}\(best, draws\)"
    ) as seen:
        assert content(function(draws, best)) == expected
    assert seen[0].filename == __file__


def test_draws_alone_where_the_estimate_is_optional():
    found = epl.uncertainty.n_clusters_posterior(Z)
    assert (found.mode, found.estimate) == (2, None)
    assert len(epl.plots.n_clusters(DRAWS).patches) == 2
    with pytest.raises(TypeError, match="'draws' must be given"):
        epl.uncertainty.n_clusters_posterior(best=estimate())
    with pytest.raises(TypeError, match=r"takes the estimate first, then the draws"):
        epl.plots.n_clusters(estimate())
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'draws'"):
        epl.align(estimate())


def test_what_is_one_partition():
    for one in ([0, 1, 1], ["a", "b"], np.arange(3), [{1, 2}, {3}], {"ann": 0, "bob": 1}):
        assert _likeness(one) == 2
    models = [object(), object()]
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"z": (("draw", "item"), Z)})})
    for many in (
        Z,
        tree,
        tree["posterior"],
        [[0, 1], [0]],
        "file.csv",
        {"z": Z},
        [[{1}, {2}], [{1, 2}]],
        models,
        None,
    ):
        assert _likeness(many) == 0
    assert _likeness(DRAWS) < _likeness(Z[:1]) < _likeness(Z[0]) < _likeness(estimate())
