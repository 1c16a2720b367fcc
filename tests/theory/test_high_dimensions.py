"""The curse of dimensionality: cells, balls in cubes, and distances that grow equal."""

import numpy as np
import pytest

from mercer.theory import ball_fraction, count_cells, relative_contrast


@pytest.mark.catalogue("PM-24")
def test_balls_in_cubes_have_the_known_shares():
    for d, share in ((1, 1.0), (2, np.pi / 4), (3, np.pi / 6), (10, 0.002490394570)):
        assert ball_fraction(d) == pytest.approx(share, abs=1e-11)
    assert ball_fraction(2) == pytest.approx(0.785398, abs=1e-6)
    assert ball_fraction(3) == pytest.approx(0.523599, abs=1e-6)
    assert 0 < ball_fraction(200) < 1e-100
    X = np.random.default_rng(0).uniform(-1, 1, size=(200_000, 4))
    assert ball_fraction(4) == pytest.approx(np.mean((X**2).sum(axis=1) <= 1), abs=0.005)


@pytest.mark.catalogue("PM-24")
def test_contrasts_fall_with_the_dimension_and_are_those_of_the_distances():
    random = np.random.default_rng(0)
    contrasts = [relative_contrast(random.uniform(size=(100, d))) for d in (1, 2, 5, 20, 100)]
    assert np.all(np.diff(contrasts) < 0)
    assert relative_contrast([[0.0], [1.0], [3.0]]) == pytest.approx(np.mean([2.0, 1.0, 0.5]))
    assert relative_contrast([[1.0], [4.0]], [[0.0]]) == 3.0
    # Rows that equal the query are left out.
    assert relative_contrast([[0.0], [1.0], [4.0]], [[0.0]]) == 3.0


@pytest.mark.catalogue("PM-24")
def test_cells_multiply():
    assert [count_cells(d, 3) for d in range(5)] == [1, 3, 9, 27, 81]


def test_errors_name_the_rule():
    with pytest.raises(ValueError, match="n_dimensions"):
        ball_fraction(-1)
    with pytest.raises(ValueError, match="all rows are equal"):
        relative_contrast(np.ones((4, 2)))
    with pytest.raises(ValueError, match="must have the 2 columns of X; got 3"):
        relative_contrast(np.ones((4, 2)), np.ones((1, 3)))
