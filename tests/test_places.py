"""The hash table of integer keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.places import EMPTY, MOST_FILLED, find_place, places_of, take_place


@settings(deadline=None)
@given(st.sets(st.integers(0, 2**45), max_size=200), st.integers(0, 2**45))
def test_every_key_is_found_where_it_was_put_and_no_other_is(wanted, stranger):
    keys, places = places_of(np.array(sorted(wanted), np.int64))
    assert len(keys) * MOST_FILLED >= len(wanted)
    assert keys[places].tolist() == sorted(wanted)
    assert (keys != EMPTY).sum() == len(wanted)
    for key in wanted:
        assert keys[find_place(keys, 0, len(keys), key)] == key
    assert (find_place(keys, 0, len(keys), stranger) >= 0) == (stranger in wanted)


def test_a_stretch_of_an_array_is_a_table_of_its_own():
    keys = np.full(16, EMPTY, np.int64)
    for key in range(5):
        place = take_place(keys, 8, 8, key)
        assert place == take_place(keys, 8, 8, key)
    assert (keys[:8] == EMPTY).all()
    assert sorted(keys[8:])[3:] == [0, 1, 2, 3, 4]
    assert find_place(keys, 0, 8, 3) == -1
