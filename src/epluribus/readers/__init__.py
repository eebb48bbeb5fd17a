"""Readers: from whatever a user has to labels, one draw per row.

`table.to_table` is the way in: it checks the labels and hands them on, some draws at a time. Except for an array,
`convert.to_source` chooses a reader first: `files` for paths (which calls `text`, `parquet`, `zarr_arrays`), `objects`
for data frames and fitted clusterers, and `labeled_arrays` for xarray and ArviZ. Each of them returns a
`source.Source`; `columns` finds the labels among the columns of a table.
"""
