"""Networks as the pictures need them: a sparse matrix, with nodes in the order of the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus.estimate import Estimate


def read_links(network: Any, best: Any, argument: str) -> tuple[Any, list[Any] | None]:
    """The matrix of a network in the order of the labels, and the nodes of a graph in that order.

    `network` is an array, which is returned as it is, a sparse matrix, or a networkx graph (1 for an edge);
    both are returned in CSR form. The nodes of a graph are put in the order of the items of an estimate.
    """
    from scipy.sparse import csr_array, issparse

    # Imported here: the models bring their kernels, which no other picture needs.
    from epluribus.models.edges import graph_to_matrix, is_graph

    if not is_graph(network):
        return (csr_array(network) if issparse(network) else np.asarray(network)), None
    nodes, order = list(network.nodes), _order_of_nodes(network, best, argument)
    matrix = graph_to_matrix(network)
    if order is not None:
        matrix, nodes = matrix[order][:, order], [nodes[i] for i in order]
    return matrix, nodes


def _order_of_nodes(graph: Any, best: Any, argument: str) -> list[int] | None:
    """Numbers of the nodes in the order of the labels; None for the order of the graph."""
    nodes = list(graph.nodes)
    plain = nodes == list(range(len(nodes)))
    items = best.items if isinstance(best, Estimate) else None
    if items is not None and not plain:
        number = {str(node): i for i, node in enumerate(nodes)}
        missing = [item for item in items if item not in number]
        if missing or len(nodes) != len(items):
            such = f", but not '{missing[0]}'" if missing else ""
            raise ValueError(
                f"'{argument}' must have the {len(items)} items of the estimate as its nodes; it has "
                f"{len(nodes)} nodes{such}. Give the graph that the estimate was made from."
            )
        return [number[item] for item in items]
    # Numbers out of order: labels without names may follow the numbers or the graph, and nobody can tell.
    if items is None and not plain and set(nodes) == set(range(len(nodes))):
        at = next(i for i, node in enumerate(nodes) if node != i)
        raise ValueError(
            f"'{argument}' has the nodes 0, 1, ... in another order (node {nodes[at]} comes at place "
            f"{at}), and labels without names do not say which order they follow. For labels in the order "
            "of the numbers give networkx.to_scipy_sparse_array(graph, nodelist=range(len(graph))), for "
            "labels in the order of the graph networkx.to_scipy_sparse_array(graph)."
        )
    return None
