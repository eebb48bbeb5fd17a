"""Labels in parquet, read a batch of rows at a time: a file of 20 MB can hold labels of 200 MB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import reading
from epluribus._typing import AnyArray
from epluribus._validate import need
from epluribus.readers.columns import pick_columns
from epluribus.readers.source import Source

_BATCH_CELLS = 1 << 20
"""Cells decoded at a time, 8 MB."""
_BATCH_ROWS = 128
"""The fewest rows decoded at a time: a batch takes time for each column, however few its rows are."""


def read_parquet(path: Path, var: str | None) -> Source:
    """Labels in a parquet file; those of several columns of numbers are not read yet."""
    parquet = need("pyarrow.parquet", "files", "Reading parquet")
    with reading(path, "parquet"):
        file = parquet.ParquetFile(path)
    schema = file.schema_arrow
    # Once: each look at `schema.names` makes a new list, slow for thousands of columns.
    names = schema.names
    kinds = [_kind(field.type) for field in schema]
    # Columns are asked for by name, so that names must differ.
    batches = len(set(names)) == len(names)

    def take(columns: list[int]) -> Any:
        array = _Columns(file, path, [names[i] for i in columns], [kinds[i] for i in columns])
        if batches and len(columns) > 1 and all(kinds[i] in "iufb" for i in columns):
            return array
        if batches:
            return np.asarray(array)
        with reading(path, "parquet"):
            table = file.read()
        return np.column_stack([table.column(i).to_numpy() for i in columns])

    return pick_columns(names, take, where=f"the file '{path}'", var=var)


def _kind(arrow_type: Any) -> str:
    """The kind of NumPy's type for a column: "i", "u", "f", "b", or "O" for anything else."""
    try:
        return str(np.dtype(arrow_type.to_pandas_dtype()).kind)
    except (NotImplementedError, TypeError):
        return "O"


class _Columns:
    """Some columns of a file as an array of which slices of rows can be taken, best in order."""

    ndim = 2

    def __init__(self, file: Any, path: Path, names: list[str], kinds: list[str]) -> None:
        self._file, self._path, self._names = file, path, names
        self.shape = (file.metadata.num_rows, len(names))
        # What a block takes in memory: most files hold eight bytes per label.
        self.dtype = np.dtype(np.float64 if "f" in kinds else np.int64)
        self._restart()

    def _restart(self) -> None:
        size = max(_BATCH_ROWS, _BATCH_CELLS // self.shape[1])
        self._batches = self._file.iter_batches(size, columns=self._names)
        self._first, self._rows = 0, np.empty((0, self.shape[1]))

    def __getitem__(self, span: slice) -> AnyArray:
        begin, end, _ = span.indices(self.shape[0])
        if begin < self._first:
            self._restart()
        found: list[AnyArray] = []
        while begin < end:
            after = self._first + len(self._rows)
            if begin < after:
                found.append(self._rows[begin - self._first : end - self._first])
                begin = min(end, after)
            else:
                with reading(self._path, "parquet"):
                    self._first, self._rows = after, self._next()
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _next(self) -> AnyArray:
        """The rows of the next batch."""
        batch = next(self._batches)
        # A column may bring others: in parquet "z" also stands for "z.1".
        at = {name: i for i, name in enumerate(batch.schema.names)}
        columns = [batch.column(at[name]).to_numpy(zero_copy_only=False) for name in self._names]
        # The smallest common type, as the file has it.
        out = np.empty((batch.num_rows, len(columns)), np.result_type(*{c.dtype for c in columns}))
        for i, column in enumerate(columns):
            out[:, i] = column
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        found = self[0 : self.shape[0]] if self.shape[0] else np.empty(self.shape, self.dtype)
        return found if dtype is None else found.astype(dtype)
