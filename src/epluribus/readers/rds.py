"""Draws saved by R: a matrix, a data frame, the formats of posterior and rstan, or a list of these."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import need
from epluribus.readers.columns import pick_columns
from epluribus.readers.source import Source
from epluribus.readers.tables import pick_table

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_r"]

_CHAIN = re.compile(r"chain\W*\d+", re.IGNORECASE)
"""Names of a list that has one element a chain."""


def read_r(path: Path, var: str | None = None) -> Source:
    """What `saveRDS` (.rds) or `save` (.rda, .RData) wrote."""
    rdata = need("rdata", "files", "Reading R's files")
    try:
        with warnings.catch_warnings():
            # Of the classes of posterior and coda it says that it reads what is below them: good.
            warnings.filterwarnings("ignore", message="Missing constructor for R class")
            parsed = rdata.parser.parse_file(str(path), extension=path.suffix.lower())
            _number_words(parsed.object, rdata.parser.RObjectType)
            value = rdata.conversion.convert(parsed)
    except Exception as error:  # the parser has no errors of its own
        raise ValueError(f"The file '{path}' could not be read as R data: {error}") from error
    return _from_r(value, var, f"the file '{path}'")


def _number_words(thing: Any, types: Any) -> None:
    """Matrices of words and of factors made integers, in place: rdata loses the shape of these."""
    kind = thing.info.type
    if kind in (types.VEC, types.LIST):
        for part in thing.value:
            _number_words(part, types)
    elif kind in (types.STR, types.INT) and b"dim" in _attribute_names(thing, types):
        if kind == types.STR:
            words = [char.value for char in thing.value]
            codes = {word: code for code, word in enumerate(dict.fromkeys(words))}
            missing = [word is None for word in words]
            thing.value = np.ma.masked_array([codes[word] for word in words], missing)
            thing.info.type = types.INT
        thing.info.object = False


def _attribute_names(thing: Any, types: Any) -> list[bytes]:
    names: list[bytes] = []
    node = thing.attributes
    while node is not None and node.info.type == types.LIST:
        symbol = node.tag.referenced_object or node.tag
        names.append(symbol.value.value)
        node = node.value[1]
    return names


def _from_r(value: Any, var: str | None, where: str) -> Source:
    if isinstance(value, dict):
        return _from_named_list(value, var, where)
    if isinstance(value, list) and value and all(np.ndim(part) == 1 for part in value):
        return Source(value)  # one vector a draw
    if isinstance(value, list):  # one matrix a chain, as coda has it
        parts = [_from_r(part, var, where) for part in value]
        shapes = {np.shape(part.labels) for part in parts}
        if len(shapes) != 1:
            raise ValueError(f"The chains in {where} must have one shape; got {sorted(shapes)}.")
        return Source(np.ma.stack([part.labels for part in parts]), parts[0].items)
    if hasattr(value, "columns"):
        return pick_columns(
            value.columns, lambda i: value.iloc[:, i].to_numpy(), where=where, var=var
        )
    if hasattr(value, "coords"):
        return _from_named_array(value, var, where)
    array = np.asanyarray(value)  # masked where R has NA
    if array.ndim != 2:
        raise ValueError(
            f"The labels in {where} must be a matrix of draws by items, or have named dimensions; "
            f"got an array of shape {array.shape}. In R, aperm(z, ...) and dimnames(z) make it one: "
            "names(dimnames(z)) <- c('iteration', 'chain', 'variable')."
        )
    return Source(array)


def _from_named_list(value: dict[Any, Any], var: str | None, where: str) -> Source:
    """The element that is named, or the only table of whole numbers; or one element a chain."""
    elements = {str(name): element for name, element in value.items()}
    if all(_CHAIN.fullmatch(name) for name in elements):
        return _from_r(list(elements.values()), var, where)
    tables = [name for name, element in elements.items() if np.ndim(element) >= 2]
    if var is not None and var not in elements and len(tables) == 1:
        return _from_r(elements[tables[0]], var, where)  # a variable of the one table
    return _from_r(
        elements[pick_table(list(elements), elements.__getitem__, var, where)], None, where
    )


def _from_named_array(array: Any, var: str | None, where: str) -> Source:
    """A matrix with names, or an array of iterations by chains by variables."""
    names = _names_along(array, array.dims[-1])
    if array.ndim == 3:
        chain = next((dim for dim in array.dims if str(dim).lower().startswith("chain")), None)
        if chain is None:
            raise ValueError(
                f"The array in {where} must say which dimension is the chain; its dimensions are "
                f"{tuple(map(str, array.dims))}. In R: names(dimnames(z))[2] <- 'chain'."
            )
        array = array.transpose(chain, ...)
    values = np.asarray(array)
    if names is None:
        return Source(values)
    flat = values.reshape(-1, values.shape[-1])
    source = pick_columns(names, lambda i: flat[:, i], where=where, var=var)
    return source._replace(labels=source.labels.reshape(*values.shape[:-1], -1))


def _names_along(array: Any, dim: Any) -> list[str] | None:
    return [str(name) for name in np.asarray(array.coords[dim])] if dim in array.coords else None
