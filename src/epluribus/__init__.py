"""epluribus: one optimal partition out of many posterior draws of cluster labels."""

__version__ = "0.1.0"
