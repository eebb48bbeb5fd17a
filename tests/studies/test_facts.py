"""What the paper states, and tables of parties compared with it."""

from dataclasses import replace

import numpy as np
import pytest

from epluribus.studies.analysis import match_columns, number_clusters, read_facts

PARTY = np.array(list("aaaabbbb"))
LABELS = np.array([0, 0, 1, 1, 1, 2, 2, 2])
TABLE = np.array([[2, 2, 0], [0, 1, 3]])
FACTS = replace(read_facts("galaxies"), parties=("a", "b"), n_items=8, table=TABLE)


def test_the_table_counts_parties_by_cluster():
    assert FACTS.count(PARTY, LABELS).tolist() == TABLE.tolist()
    assert replace(FACTS, parties=("c", "b", "a")).count(PARTY, LABELS).tolist() == [
        [0] * 3,
        [0, 1, 3],
        [2, 2, 0],
    ]


def test_distance_does_not_depend_on_the_order_of_columns():
    mixed = TABLE[:, [2, 0, 1]]
    assert replace(FACTS, table=mixed).distance(PARTY, LABELS) == 0
    assert match_columns(TABLE, mixed)[0] == [(0, 1), (1, 2), (2, 0)]
    mixed[1, [0, 2]] += [1, -1]  # one item moved
    assert replace(FACTS, table=mixed).distance(PARTY, LABELS) == 1
    assert replace(FACTS, table=np.array([[4], [4]])).distance(PARTY, LABELS) == 8 - 3


def test_numbers_follow_the_rank_or_the_printed_columns():
    assert number_clusters(LABELS, -np.arange(8)).tolist() == [3, 3, 2, 2, 2, 1, 1, 1]
    assert number_clusters(LABELS, np.zeros(8)).tolist() == [3, 3, 1, 1, 1, 2, 2, 2]  # by size
    printed = TABLE[:, [1, 2, 0]]
    # Without the last column, the cluster that no column is left for comes last.
    for table in (printed, printed[:, :2]):
        numbers = replace(FACTS, table=table).number(LABELS, PARTY)
        assert numbers.tolist() == [3, 3, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("blogs", [2, 11, 4, 7, 6, 1, 57, 11, 32, 40, 25]), ("congress", [267, 168])],
)
def test_printed_tables_count_every_item(name, sizes):
    facts = read_facts(name)
    assert facts.table.sum(axis=1).tolist() == sizes
    assert sum(sizes) == facts.n_items
    assert facts.table.shape == (len(facts.parties), facts.k_optimal)
    assert (facts.table.sum(axis=0) > 0).all()
