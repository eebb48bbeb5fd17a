"""Tables of parties against clusters."""

import numpy as np
import pytest

import epluribus as epl
from epluribus.studies._confusion import (
    Groups,
    items_moved,
    match_columns,
    number_clusters,
    table_distance,
)
from epluribus.studies.facts import BLOGS, CONGRESS, GALAXIES, PARTIES_OF_BLOGS

PARTIES = Groups(np.array(list("aaaabbbb")), "ab")
LABELS = np.array([0, 0, 1, 1, 1, 2, 2, 2])


def test_the_table_counts_groups_by_cluster():
    assert PARTIES.table(LABELS).tolist() == [[2, 2, 0], [0, 1, 3]]
    assert Groups(PARTIES.group, "ba").table(LABELS).tolist() == [[0, 1, 3], [2, 2, 0]]


def test_distance_does_not_depend_on_the_order_of_columns():
    table = PARTIES.table(LABELS)
    assert PARTIES.distance(LABELS, table[:, [2, 0, 1]]) == 0
    assert match_columns(table, table[:, [2, 0, 1]])[0] == [(0, 1), (1, 2), (2, 0)]
    other = table.copy()
    other[1, 1:] += [-1, 1]  # one item moved
    assert PARTIES.distance(LABELS, other) == 1
    assert table_distance(table, np.array([[4], [4]])) == 8 - 3


def test_items_moved():
    assert items_moved(LABELS, LABELS[::-1][::-1] + 5) == 0
    assert items_moved(LABELS, [0, 0, 1, 1, 2, 2, 2, 2]) == 1


def test_numbers_follow_the_rank_or_the_printed_columns():
    assert number_clusters(LABELS, -np.arange(8)).tolist() == [3, 3, 2, 2, 2, 1, 1, 1]
    assert number_clusters(LABELS, np.zeros(8)).tolist() == [3, 3, 1, 1, 1, 2, 2, 2]  # by size
    printed = PARTIES.table(LABELS)[:, [1, 2, 0]]
    expected = [3, 3, 1, 1, 1, 2, 2, 2]
    assert PARTIES.number(LABELS, printed).tolist() == expected
    # A cluster that no column is left for comes last.
    assert PARTIES.number(LABELS, printed[:, :2]).tolist() == expected


def test_rebuilt_partition_has_the_table():
    draws = epl.Draws([LABELS, LABELS, [0, 0, 0, 1, 1, 2, 2, 2]])
    table = np.array([[3, 1, 0], [0, 1, 3]])
    labels = PARTIES.rebuild(table, LABELS, draws)
    assert PARTIES.distance(labels, table) == 0
    assert items_moved(labels, LABELS) == 1
    # Of items 2 and 3 the one that the draws put with items 0 and 1 was moved.
    assert labels[2] == labels[0] != labels[3]


@pytest.mark.parametrize("facts", [BLOGS, CONGRESS])
def test_printed_tables_count_every_item(facts):
    assert facts.table.sum() == facts.n_items
    assert facts.table.shape[1] == facts.k_optimal
    assert (facts.table.sum(axis=0) > 0).all()


def test_facts_of_the_paper():
    assert BLOGS.reference_table.sum() == 196
    assert BLOGS.reference_table.shape == (11, 12)
    # Both tables have the same parties, as the data have them.
    sizes = [2, 11, 4, 7, 6, 1, 57, 11, 32, 40, 25]
    assert BLOGS.table.sum(axis=1).tolist() == BLOGS.reference_table.sum(axis=1).tolist() == sizes
    assert len(PARTIES_OF_BLOGS) == 11
    assert CONGRESS.table.min(axis=0).sum() == 29
    assert CONGRESS.table.sum(axis=1).tolist() == [267, 168]
    assert (GALAXIES.k_mode, GALAXIES.k_optimal) == (4, 3)
