"""Every compiled function, and the only place that knows Numba exists."""
