"""What holds the labels: the reader for whatever the user has, and what is probably a mistake."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from epluribus import partition
from epluribus._text import few_of
from epluribus._typing import AnyArray
from epluribus.readers.files import read_source
from epluribus.readers.labeled_arrays import from_labeled, is_labeled
from epluribus.readers.objects import (
    from_frame,
    from_parts,
    is_ensemble,
    is_frame,
    is_parts,
    stack_labels,
)
from epluribus.readers.source import Source, item_names, pick_labels
from epluribus.readers.zarr_arrays import from_array, from_group, is_array, is_group


def to_source(z: Any, var: str | None = None, argument: str = "z") -> Source:
    """What the reader for `z` returns; anything unknown is taken as an array.

    The order of the questions matters: an xarray Dataset is also a mapping, and a list of sets would become
    an array of objects.
    """
    if isinstance(z, Source):
        return z
    if type(z) is np.ndarray:
        return Source(z)
    if isinstance(z, str | Path):
        return read_source(Path(z), var=var)
    if is_frame(z):
        return from_frame(z, var=var)
    if is_array(z):
        return from_array(z)
    if is_group(z):
        return from_group(z, var, f"'{argument}'")
    if is_labeled(z):
        return from_labeled(z, var)
    # Arrays by name, as NumPyro and others return them: labels have at least draws and items.
    if isinstance(z, Mapping):
        tables = [name for name, value in z.items() if np.ndim(value) >= 2]
        name = pick_labels(list(z), z.__getitem__, var, f"'{argument}'", possible=tables)
        return Source(z[name], variable=name)
    # An iterator can be read only once, and the questions below would use it up.
    if isinstance(z, Iterator):
        z = list(z)
    if is_ensemble(z):
        return Source(stack_labels(z))
    if is_parts(z):
        return from_parts(z, argument)
    # Partitions as sets of items, or as mappings from items to labels, bring the items' names.
    if isinstance(z, list | tuple) and z and all(partition.is_groups(draw) for draw in z):
        labels, items = partition.groups_to_labels(z, argument)
        return Source(labels, item_names(items))
    return Source(z)


# --- what is probably a mistake ---


def refuse_one_partition(names: Sequence[Any], argument: Any) -> None:
    """Refuse a table of one partition, as `write_labels` and `to_pandas` make it: rows are items there."""
    if {"item", "cluster"} <= set(names) <= {"item", "cluster", "certainty"}:
        raise ValueError(
            f"'{argument}' must hold draws, one in each row; it has the columns 'item' and 'cluster', which "
            "are one partition. 'epluribus compare' reads it, and 'epluribus ball --labels'; in Python "
            "give its column 'cluster' where labels are asked for."
        )


def warn_of_odd_words(table: AnyArray, missing: Any, argument: str) -> None:
    """Say that a few labels are words where the others are numbers, such as an x for a missing one."""
    words, counts = np.unique(np.ma.compressed(table), return_counts=True)
    is_word = np.array([not word.lstrip("+-").isdecimal() and word != missing for word in words])
    odd = np.flatnonzero(is_word)
    if len(odd) and counts[odd].sum() < counts.sum() / 2:
        warnings.warn(
            f"'{argument}' has words among numbers: {few_of([repr(str(words[i])) for i in odd], 3)}. They "
            f"are read as labels like any other. If {words[odd[0]]!s} means that a label is missing, say so: "
            f"missing={str(words[odd[0]])!r}.",
            stacklevel=2,
        )
