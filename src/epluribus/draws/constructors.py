"""Draws from objects of other packages, by the name of the package: the class methods of `Draws`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from epluribus.readers.labeled_arrays import from_labeled
from epluribus.readers.objects import from_frame, stack_labels


class Constructors:
    """The class methods of `Draws` that make draws from objects of other packages."""

    def __init__(self, z: Any, **options: Any) -> None:
        """As `Draws`, which every object of this class is."""
        raise NotImplementedError

    @classmethod
    def from_arviz(
        cls, data: Any, var: str | None = None, *, group: str = "posterior", **options: Any
    ) -> Self:
        """Draws from an ArviZ object: InferenceData (ArviZ 0.x) or DataTree (1.x).

        Parameters
        ----------
        data : InferenceData or DataTree
            What PyMC, NumPyro and others return, with dimensions chain, draw and one of items.
        var : str, optional
            The variable that holds the labels; not needed if only one variable holds integers.
        group : str, default "posterior"
            The group it is in.
        **options
            `weights`, `burn`, `thin`, `items`, as for `Draws`.

        Examples
        --------
        >>> import epluribus as epl
        >>> import xarray as xr
        >>> labels = xr.Dataset({"z": (("chain", "draw", "item"), [[[3, 3, 5], [0, 1, 1]]])})
        >>> epl.Draws.from_arviz(xr.DataTree.from_dict({"posterior": labels}))
        Draws(n_draws=2, n_items=3, n_distinct=2, n_chains=1)
        """
        return cls(from_labeled(data, var, group=group), **options)

    @classmethod
    def from_xarray(
        cls,
        data: Any,
        var: str | None = None,
        *,
        chain: str = "chain",
        draw: str = "draw",
        **options: Any,
    ) -> Self:
        """Draws from an xarray DataArray or Dataset, with its dimensions in any order.

        Parameters
        ----------
        data : DataArray or Dataset
            The labels, with a dimension `draw`, perhaps a dimension `chain`, and one of items.
        var : str, optional
            The variable of a Dataset, as in `from_arviz`.
        chain, draw : str
            Names of these dimensions.
        **options
            `weights`, `burn`, `thin`, `items`, as for `Draws`.

        Examples
        --------
        >>> import epluribus as epl
        >>> import xarray as xr
        >>> labels = xr.DataArray([[0, 1], [0, 1], [1, 1]], dims=("gene", "iteration"))
        >>> epl.Draws.from_xarray(labels, draw="iteration")
        Draws(n_draws=2, n_items=3, n_distinct=2, n_chains=1)
        """
        return cls(from_labeled(data, var, chain=chain, draw=draw), **options)

    @classmethod
    def from_pandas(
        cls, frame: Any, var: str | None = None, *, chain: str | None = None, **options: Any
    ) -> Self:
        """Draws from a data frame: one draw per row, one item per column.

        Parameters
        ----------
        frame : DataFrame
            Its columns are read like those of a file: see `read_draws`.
        var : str, optional
            The variable whose entries ``var[1]``, ``var[2]``, ... are the labels.
        chain : str, optional
            The column, or level of the index, that holds the chain; by default ``.chain``,
            ``chain__`` or ``chain``, if there is one.
        **options
            `weights`, `burn`, `thin`, `items`, as for `Draws`.

        Examples
        --------
        >>> import epluribus as epl
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"chain": [1, 1, 2], "ann": [0, 0, 1], "bob": [0, 1, 1]})
        >>> draws = epl.Draws.from_pandas(frame)
        >>> draws.items, draws.n_chains
        (('ann', 'bob'), 2)
        """
        return cls(from_frame(frame, var=var, chain=chain), **options)

    @classmethod
    def from_estimators(
        cls, estimators: Sequence[Any], *, noise: str = "alone", **options: Any
    ) -> Self:
        """Draws from fitted scikit-learn clusterers: the `labels_` of each are one draw.

        Parameters
        ----------
        estimators : list
            Fitted clusterings of the same items in the same order.
        noise : {"alone", "together", "missing"}, default "alone"
            What to do with items labeled -1, which belong to no cluster (DBSCAN, HDBSCAN, OPTICS):
            make each a cluster of its own, or all of them one cluster, or take them as missing.
        **options
            `weights` (one per estimator) and `items`, as for `Draws`.

        Examples
        --------
        >>> import epluribus as epl
        >>> from sklearn.cluster import AgglomerativeClustering
        >>> points = [[0.0], [0.1], [5.0], [5.2], [9.0]]
        >>> fits = [AgglomerativeClustering(k).fit(points) for k in (2, 3, 4)]
        >>> epl.Draws.from_estimators(fits)
        Draws(n_draws=3, n_items=5, n_distinct=3, n_chains=1)
        """
        return cls(stack_labels(estimators), **{"noise": noise, "kind": "ensemble", **options})
