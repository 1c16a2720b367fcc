"""Partial dependence, accumulated local effects and strengths of interactions, where they are known."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import partial_dependence

from mercer.errors import DataError, ParameterError
from mercer.explain import dependence, interaction_strengths

pandas = pytest.importorskip("pandas")


def make_rows(n=200):
    return np.random.default_rng(0).normal(size=(n, 3))


def test_partial_dependence_is_that_of_scikit_learn():
    X = make_rows()
    model = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0] * X[:, 1])
    expected = partial_dependence(model, X, [1], method="brute", kind="both", grid_resolution=8)
    found = dependence(model, X, 1, grid=expected["grid_values"][0])
    np.testing.assert_allclose(found.mean, expected["average"][0], atol=1e-12)
    np.testing.assert_allclose(found.curves, expected["individual"][0], atol=1e-12)


def test_accumulated_effects_stay_near_the_rows_that_exist():
    # Columns 0 and 1 are almost equal. The effect of column 0 alone in x0^2 + x1 is x0^2 up to a constant.
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, size=2000)
    X = np.column_stack([x, x + 0.01 * random.normal(size=2000)])
    found = dependence(lambda rows: rows[:, 0] ** 2 + rows[:, 1], X, 0, kind="accumulated", grid=30)
    change = found.mean - found.grid**2
    assert np.ptp(change) < 1e-10
    # The band of what does not vary within a cell but for its width is narrow, and holds the curve.
    assert (found.low <= found.mean).all()


def test_accumulated_effects_of_an_interaction_have_a_band_that_holds():
    held, total = 0, 0
    for seed in range(150):
        X = np.random.default_rng(seed).normal(size=(150, 2))
        found = dependence(
            lambda rows: rows[:, 0] * (1.0 + rows[:, 1]), X, 0, kind="accumulated", grid=[-1.0, 0.0, 1.0]
        )
        # Between -1 and 1 the mean effect rises by 2; the centre is that of the rows inside, zero by symmetry.
        ends = found.mean[-1] - found.mean[0]
        held += found.low[-1] <= 1.0 <= found.high[-1]
        total += 1
        assert abs(ends - 2.0) < 1.5
    assert held / total > 0.95 - 4 * np.sqrt(0.95 * 0.05 / total)


def test_frames_and_several_outputs_keep_their_names():
    X = pandas.DataFrame(make_rows(), columns=["a", "b", "c"])
    found = dependence(lambda rows: np.column_stack([rows["a"], rows["b"]]), X, "b", grid=5)
    assert found.column == "b"
    assert found.mean.shape == (5, 2)
    np.testing.assert_allclose(found.mean[:, 1], found.grid)


def test_strengths_of_a_product_and_a_sum():
    X = make_rows(60)
    found = interaction_strengths(lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2], X)
    assert dict(zip(found.pairs, found.values > 0.5)) == {(0, 1): True, (0, 2): False, (1, 2): False}
    assert found.values[1:].max() < 1e-12
    few = interaction_strengths(lambda rows: rows[:, 0] * rows[:, 1], X, [0, 1], n_rows=20, random_state=0)
    assert few.values[0] + 3 * few.errors[0] > found.values[0] - 0.2


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"kind": "ale"}, ParameterError, "got 'ale'"),
        ({"grid": 1}, ParameterError, "2 values or more; got 1"),
        ({"grid": [1.0, np.inf]}, DataError, "2 different finite values"),
        ({"column": "z"}, ParameterError, "got 'z'"),
        ({"coverage": 0}, ParameterError, "coverage must be in .0, 1.; got 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        dependence(lambda rows: rows[:, 0], make_rows(), **({"column": 0} | options))
