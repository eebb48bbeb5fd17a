"""Every compiled function, and the only place that knows Numba exists.

Kernels are plain loops over arrays. They check nothing and allocate nothing: the caller has checked the
arguments and provides the arrays that are filled (marked OUT) and the scratch arrays (marked WORK).
Letters: i is an item, t a draw, s or g a cluster of the estimate, v or h a *group*, which is a cluster of a
draw; n_tvs counts the items that are in group v of draw t and in cluster s.
"""
