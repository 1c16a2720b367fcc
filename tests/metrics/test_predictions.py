"""Correlation and error rates against their definitions."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from mercer.linear_model import LogisticRegression
from mercer.metrics import correlation, empirical_error, population_error


@pytest.mark.catalogue("LM-20")
def test_the_correlation_is_the_cosine_of_centred_vectors_with_sums_under_the_root():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 50))
    u, v = x - x.mean(), y - y.mean()
    assert correlation(x, y) == pytest.approx(u @ v / np.sqrt((u @ u) * (v @ v)))
    assert correlation(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1])
    # With squares inside the sum instead, it would be a sum of signs.
    assert abs(correlation(x, y)) < 1


@pytest.mark.catalogue("LM-20")
def test_it_is_one_exactly_for_affine_pairs_and_blind_to_positive_affine_maps():
    x = np.random.default_rng(1).normal(size=30)
    assert correlation(x, 3 * x + 7) == pytest.approx(1.0)
    assert correlation(x, -0.1 * x - 2) == pytest.approx(-1.0)
    y = x**2
    assert correlation(5 * x - 1, 2 * y + 3) == pytest.approx(correlation(x, y))
    assert correlation(x * 1e200, y * 1e-200) == pytest.approx(correlation(x, y))


@pytest.mark.catalogue("LM-20")
def test_the_matrix_version_holds_the_correlations_of_all_pairs_of_columns():
    random = np.random.default_rng(2)
    X, Y = random.normal(size=(40, 3)), random.normal(size=(40, 2))
    assert correlation(X) == pytest.approx(np.corrcoef(X, rowvar=False))
    both = correlation(X, Y)
    assert both.shape == (3, 2)
    assert both[2, 1] == pytest.approx(correlation(X[:, 2], Y[:, 1]))
    assert np.abs(both).max() <= 1.0


def test_constant_variables_have_no_correlation():
    assert np.isnan(correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))


@pytest.mark.catalogue("LM-17")
def test_the_empirical_error_is_one_less_the_accuracy_and_constant_in_small_moves():
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 2))
    y = (X[:, 0] + random.normal(size=200) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    error = empirical_error(y, model.predict(X))
    assert error == pytest.approx(1 - accuracy_score(y, model.predict(X)))
    model.coef_ = model.coef_ * (1 + 1e-12)
    assert empirical_error(y, model.predict(X)) == error
    weight = random.uniform(size=200)
    assert empirical_error(y, model.predict(X), weight) == pytest.approx(
        1 - accuracy_score(y, model.predict(X), sample_weight=weight)
    )


@pytest.mark.catalogue("LM-17")
def test_the_population_error_is_the_probability_of_a_mistake_and_least_for_the_likelier_class():
    joint = np.array([[0.3, 0.1], [0.05, 0.25], [0.1, 0.2]])
    assert population_error(joint, joint.argmax(axis=1)) == pytest.approx(0.25)
    assert population_error(joint, [1, 1, 1]) == pytest.approx(0.45)


def test_what_is_no_distribution_is_refused():
    with pytest.raises(
        ValueError, match="population_error: joint must be probabilities that sum to one; got a sum of 2"
    ):
        population_error([[1.0, 1.0]], [0])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        empirical_error([1, 0], [1])
