"""Tables of parties against clusters."""

import numpy as np
import pytest

import epluribus as epl
from epluribus.studies.confusion import (
    confusion,
    items_moved,
    match_columns,
    number_as_printed,
    number_clusters,
    rebuild,
    table_distance,
    together,
)
from epluribus.studies.facts import BLOGS, CONGRESS, GALAXIES, PARTIES_OF_BLOGS

PARTY = np.array(list("aaaabbbb"))
LABELS = np.array([0, 0, 1, 1, 1, 2, 2, 2])


def test_confusion_counts_groups_by_cluster():
    assert confusion(PARTY, LABELS, "ab").tolist() == [[2, 2, 0], [0, 1, 3]]
    assert confusion(PARTY, LABELS, "ba").tolist() == [[0, 1, 3], [2, 2, 0]]


def test_distance_does_not_depend_on_the_order_of_columns():
    table = confusion(PARTY, LABELS, "ab")
    assert table_distance(table, table[:, [2, 0, 1]]) == 0
    assert match_columns(table, table[:, [2, 0, 1]])[0] == [(0, 1), (1, 2), (2, 0)]
    other = table.copy()
    other[1, 1:] += [-1, 1]  # one item moved
    assert table_distance(table, other) == 1
    assert table_distance(table, np.array([[4], [4]])) == 8 - 3


def test_items_moved():
    assert items_moved(LABELS, LABELS[::-1][::-1] + 5) == 0
    assert items_moved(LABELS, [0, 0, 1, 1, 2, 2, 2, 2]) == 1


def test_numbers_follow_the_rank_or_the_printed_columns():
    assert number_clusters(LABELS, -np.arange(8)).tolist() == [3, 3, 2, 2, 2, 1, 1, 1]
    printed = confusion(PARTY, LABELS, "ab")[:, [1, 2, 0]]
    assert number_as_printed(LABELS, PARTY, "ab", printed).tolist() == [3, 3, 1, 1, 1, 2, 2, 2]
    # A cluster that no column is left for comes last.
    assert number_as_printed(LABELS, PARTY, "ab", printed[:, :2]).tolist() == [
        3,
        3,
        1,
        1,
        1,
        2,
        2,
        2,
    ]


def test_rebuilt_partition_has_the_table():
    draws = epl.Draws([LABELS, LABELS, [0, 0, 0, 1, 1, 2, 2, 2]])
    table = np.array([[3, 1, 0], [0, 1, 3]])
    labels = rebuild(table, PARTY, "ab", LABELS, draws)
    assert table_distance(confusion(PARTY, labels, "ab"), table) == 0
    assert items_moved(labels, LABELS) == 1
    # Of items 2 and 3 the one that the draws put with items 0 and 1 was moved.
    assert labels[2] == labels[0] != labels[3]


def test_together_is_the_probability_of_sharing_a_cluster():
    draws = epl.Draws([[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 0, 1]])
    assert together(draws).tolist() == [[1, 0.75, 0.25], [0.75, 1, 0.5], [0.25, 0.5, 1]]


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
