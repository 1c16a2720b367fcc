"""Random streams: one seed in, independent children out."""

import numpy as np
import pytest

from mercer._base import draw_seed, generators, seed_sequence


def draws(random_state, n=3):
    return [generator.random() for generator in generators(random_state, n)]


def test_an_integer_gives_the_same_children_every_time():
    assert draws(5) == draws(5) != draws(6)
    assert len(set(draws(5))) == 3


def test_a_child_does_not_depend_on_how_many_siblings_it_has():
    assert draws(5, 2) == draws(5, 7)[:2]


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_an_object_is_advanced_so_that_two_fits_differ_and_two_runs_agree(make):
    first, again = make(1), make(1)
    assert [draws(first), draws(first)] == [draws(again), draws(again)]
    assert draws(make(1)) != draws(first)


def test_none_draws_fresh_entropy():
    assert seed_sequence(None).entropy != seed_sequence(None).entropy


def test_a_seed_for_native_code_is_that_of_the_sequence_or_fresh():
    assert draw_seed(5) == int(seed_sequence(5).generate_state(1)[0])
    assert len({draw_seed(None) for _ in range(10)}) > 1
    assert all(0 <= draw_seed(None) < 2**32 for _ in range(10))
