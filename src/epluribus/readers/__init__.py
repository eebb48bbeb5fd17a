"""Readers: from whatever a user has to labels, one draw per row.

`convert.to_table` is the way in. It calls `files` for paths (which calls `text`, `parquet`, `zarr_arrays`),
`objects` for data frames and fitted clusterers, and `labeled_arrays` for xarray and ArviZ. Each of them
returns a `source.Source`; `columns` finds the labels among the columns of a table, and `blocks` hands the
labels on, some draws at a time.
"""
