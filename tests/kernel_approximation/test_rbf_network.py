"""Networks of radial basis functions: where centres and widths come from, output weights in closed form, capacity."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_circles

from mercer.kernel_approximation import RBFNetworkClassifier, RBFNetworkRegressor
from mercer.svm import SVC


def squares(X, Z):
    return ((X[:, None] - Z[None]) ** 2).sum(axis=2)


@pytest.mark.catalogue("KM-23")
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.fixed_seed("k-means ends at a fixed point here; elsewhere its tolerance may end it before")
def test_centres_are_means_of_their_rows_and_widths_their_spread_or_the_nearest_gap(d):
    """Columns of different scales, unequal groups: k-means is at a fixed point, and widths follow from it alone."""
    random = np.random.default_rng(0)
    shapes = [(60, 1.0, 0.0), (25, 3.0, 20.0), (9, 0.2, 9.0)]
    groups = [random.normal(size=(size, d)) * scale + shift for size, scale, shift in shapes]
    X = np.concatenate(groups) * np.logspace(0, 1, d)
    y = random.normal(size=len(X))
    spread = RBFNetworkRegressor(5, width="spread", random_state=0).fit(X, y)
    nearest = RBFNetworkRegressor(5, width="nearest", random_state=0).fit(X, y)
    np.testing.assert_array_equal(spread.centres_, nearest.centres_)
    centres = spread.centres_
    labels = squares(X, centres).argmin(axis=1)
    for cluster, centre in enumerate(centres):
        own = X[labels == cluster]
        np.testing.assert_allclose(centre / X.std(axis=0), own.mean(axis=0) / X.std(axis=0), rtol=1e-6, atol=1e-6)
        if len(own) > 1:
            expected = np.sqrt(((own - centre) ** 2).sum(axis=1).mean())
            assert spread.widths_[cluster] == pytest.approx(expected, rel=1e-6)
        others = np.delete(centres, cluster, axis=0)
        assert nearest.widths_[cluster] == pytest.approx(np.linalg.norm(others - centre, axis=1).min(), rel=1e-9)
    assert (RBFNetworkRegressor(5, width=0.7, random_state=0).fit(X, y).widths_ == 0.7).all()


@pytest.mark.catalogue("KM-23")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_output_weights_solve_the_normal_equations_of_the_activations(alpha, fit_intercept):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2)) * [1.0, 4.0]
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 3.0
    weight = random.uniform(0.2, 2.0, size=80)
    model = RBFNetworkRegressor(9, alpha=alpha, fit_intercept=fit_intercept, random_state=1).fit(X, y, weight)
    active = np.exp(-squares(X, model.centres_) / (2 * model.widths_**2))
    wide = np.column_stack([active, np.ones(80)]) if fit_intercept else active
    penalty = alpha * np.eye(wide.shape[1])
    if fit_intercept:
        penalty[-1, -1] = 0.0
    expected = np.linalg.solve(wide.T @ (weight[:, None] * wide) + penalty, wide.T @ (weight[:, None] * y))
    np.testing.assert_allclose(model.coef_, expected[:9].T, rtol=1e-5, atol=1e-7)
    new = random.normal(size=(20, 2))
    bumps = np.exp(-squares(new, model.centres_) / (2 * model.widths_**2))
    offset = expected[9] if fit_intercept else 0.0
    np.testing.assert_allclose(model.predict(new), bumps @ expected[:9] + offset, rtol=1e-5, atol=1e-6)


@pytest.mark.catalogue("KM-23")
def test_a_classifier_is_the_least_squares_fit_to_indicators():
    X = np.random.default_rng(0).normal(size=(90, 2))
    labels = np.array(["a", "b", "c"])[(X[:, 0] > 0.3).astype(int) + ((X**2).sum(axis=1) > 2)]
    model = RBFNetworkClassifier(12, alpha=0.1, random_state=0).fit(X, labels)
    active = model.activations(X)
    centred = active - active.mean(axis=0)
    targets = np.where(labels[:, None] == model.classes_, 1.0, -1.0)
    coef = np.linalg.solve(centred.T @ centred + 0.1 * np.eye(12), centred.T @ targets)
    scores = targets.mean(axis=0) + centred @ coef
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    two = RBFNetworkClassifier(12, alpha=0.1, random_state=0).fit(X, np.where(X[:, 0] > 0, 1, -1))
    assert set(two.predict(X)) == {-1, 1}
    assert two.score(X, np.where(X[:, 0] > 0, 1, -1)) > 0.9


@pytest.mark.catalogue("KM-23")
def test_a_support_vector_machine_is_a_network_with_centres_at_its_support_vectors():
    X, y = make_circles(150, factor=0.4, noise=0.1, random_state=0)
    gamma = 1.7
    machine = SVC(C=2.0, gamma=gamma, tol=1e-8).fit(X, y)
    width = 1 / np.sqrt(2 * gamma)
    network = RBFNetworkRegressor(centres=machine.support_vectors_, width=width)
    network.fit(X, machine.decision_function(X))
    new = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
    np.testing.assert_allclose(network.predict(new), machine.decision_function(new), atol=1e-3)
    # With the machine's own coefficients the sum of bumps is its decision function, to rounding.
    by_hand = network.activations(new) @ machine.dual_coef_[0] + machine.intercept_[0]
    np.testing.assert_allclose(by_hand, machine.decision_function(new), rtol=1e-9)


@pytest.mark.catalogue("KM-23")
def test_the_centres_that_a_grid_needs_grow_exponentially_with_the_dimension():
    """One wave per axis: as many centres along each axis are needed, hence their number to the power d."""
    random = np.random.default_rng(0)
    needed = {}
    for d in (1, 2, 3):
        X = random.uniform(size=(600, d))
        y = np.sin(2 * np.pi * X + 0.4).prod(axis=1)
        for side in range(2, 8):
            axis = np.linspace(0, 1, side)
            grid = np.array(list(itertools.product(axis, repeat=d)))
            model = RBFNetworkRegressor(centres=grid, width=axis[1], alpha=1e-6, fit_intercept=False).fit(
                X[:400], y[:400]
            )
            if model.score(X[400:], y[400:]) > 0.9:
                needed[d] = side**d
                break
    assert needed[1] >= 3, needed
    assert needed[2] >= needed[1] ** 2
    assert needed[3] >= needed[1] ** 3


@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_equal_rows_of_single_precision_have_finite_activations(size):
    """Their spread is zero, and a width of nearly zero overflowed in float32."""
    rows = np.full((20, 3), size, dtype=np.float32)
    model = RBFNetworkClassifier(4, random_state=0).fit(rows, np.arange(20) % 2)
    assert np.isfinite(model.decision_function(rows)).all()
