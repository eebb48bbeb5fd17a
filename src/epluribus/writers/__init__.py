"""Answers written down: labels, matrices, frames, ArviZ groups, files to load again."""

from epluribus.writers.saved import load

__all__ = ["load"]
