"""Answers written down: labels, matrices, frames, ArviZ groups, files to load again."""
