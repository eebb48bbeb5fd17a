"""How sure an answer is."""

from epluribus.uncertainty.psm import psm

__all__ = ["psm"]
