import numpy as np
import pytest

import oracles
from epluribus import partition


def together(labels):
    labels = np.asarray(labels)
    return labels[:, None] == labels[None, :]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_enumeration(n):
    comp = [labels.tolist() for labels in partition.partitions(n)]
    assert comp == sorted(oracles.all_partitions(n))
    assert len(comp) == partition.n_partitions(n)


def test_meet_join_contingency():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.integers(4, size=(2, 9))
        meet, join = partition.meet(a, b), partition.join(a, b)
        np.testing.assert_array_equal(together(meet), together(a) & together(b))
        closure = together(a) | together(b)
        for _ in range(9):
            closure = (closure.astype(int) @ closure.astype(int)) > 0
        np.testing.assert_array_equal(together(join), closure)
        table = partition.contingency(a, b)
        assert table.sum() == 9
        order_a, order_b = partition.canonical(a), partition.canonical(b)
        for g in range(table.shape[0]):
            for h in range(table.shape[1]):
                assert table[g, h] == np.sum((order_a == g) & (order_b == h))
