"""Case studies on real data: scripts that make the pages under docs/cases."""
