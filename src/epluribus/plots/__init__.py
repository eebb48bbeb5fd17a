"""Pictures. Each function draws into `ax` or a new figure and returns the Axes; needs matplotlib."""

from epluribus.plots.histogram import histogram
from epluribus.plots.n_clusters import n_clusters

__all__ = ["histogram", "n_clusters"]
