"""Quadratic discriminant analysis: known Gaussians, agreement with the linear case, batches, and singular classes."""

import numpy as np
import pytest
import sklearn.discriminant_analysis
from scipy.linalg import LinAlgError
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine

import mercer
from mercer.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mercer.errors import DataError

WINE = load_wine(return_X_y=True)


@pytest.mark.catalogue("DT-04", "DT-07")
def test_scores_are_log_densities_plus_log_priors():
    random = np.random.default_rng(0)
    means, priors = random.normal(size=(3, 2)), np.array([0.5, 0.3, 0.2])
    covariances = np.array([np.eye(2) * s + 0.3 for s in (1.0, 2.0, 0.5)])
    model = QuadraticDiscriminantAnalysis.from_parameters(means, covariances, priors)
    X = random.normal(size=(40, 2)) * 3
    parts = zip(means, covariances, priors)
    joint = np.stack([multivariate_normal(m, C).logpdf(X) + np.log(p) for m, C, p in parts], axis=1)
    np.testing.assert_allclose(model.decision_function(X) - np.log(2 * np.pi), joint, rtol=1e-10)
    assert np.array_equal(model.predict(X), joint.argmax(axis=1))
    # At its mean a Gaussian's log-density is -log((2 pi)^d det C) / 2.
    at_mean = model.decision_function(means)[np.arange(3), np.arange(3)] - np.log(2 * np.pi) - np.log(priors)
    np.testing.assert_allclose(at_mean, -0.5 * np.log((2 * np.pi) ** 2 * np.linalg.det(covariances)), rtol=1e-12)


@pytest.mark.catalogue("DT-07")
@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_units_of_columns_change_no_posterior(solver):
    X, y = WINE[0][:, :4], WINE[1]
    known = np.stack(
        [multivariate_normal(X[y == k].mean(0), np.cov(X[y == k].T, bias=True)).logpdf(X) for k in range(3)]
    )
    joint = known.T + np.log(np.bincount(y) / len(y))
    posteriors = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    for units in (0.01, 1e-8, 1e8, [1.0, 1e-12, 1.0, 1.0], [1e9, 1.0, 1e-9, 1.0], [1.0, 1e12, 1.0, 1.0]):
        model = QuadraticDiscriminantAnalysis(solver=solver).fit(X * units, y)
        np.testing.assert_allclose(model.predict_proba(X * units), posteriors, atol=1e-6, err_msg=str(units))
        # The principal variances are those of the covariance, to the last but a few digits each.
        for values, axes, k in zip(model.scalings_, model.rotations_, range(3)):
            logarithm = np.linalg.slogdet(np.cov(X[y == k].T, bias=True))[1] + 2 * np.log(np.ones(4) * units).sum()
            assert np.log(values).sum() == pytest.approx(logarithm, rel=1e-7)
            np.testing.assert_allclose(axes.T @ axes, np.eye(4), atol=1e-12)


@pytest.mark.catalogue("DT-07")
def test_equal_covariances_give_the_linear_classifier():
    random = np.random.default_rng(0)
    means, covariance, priors = random.normal(size=(3, 2)), np.array([[2.0, 0.5], [0.5, 1.0]]), [0.5, 0.3, 0.2]
    linear = LinearDiscriminantAnalysis.from_parameters(means, covariance, priors)
    model = QuadraticDiscriminantAnalysis.from_parameters(means, [covariance] * 3, priors)
    X = random.normal(size=(40, 2)) * 3
    np.testing.assert_allclose(model.predict_proba(X), linear.predict_proba(X), rtol=1e-9)
    assert np.array_equal(model.predict(X), linear.predict(X))


@pytest.mark.catalogue("DT-07")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("prior", [0.5, 0.2])
def test_the_boundary_around_a_narrow_class_in_a_wide_one_is_a_circle_of_known_radius(prior, unit):
    """N(0, I) against N(0, 4 I): |x|^2 (1 - 1/4) / 2 = log 4 + log(p / (1 - p)) in the plane."""
    model = QuadraticDiscriminantAnalysis.from_parameters(
        np.zeros((2, 2)), [unit**2 * np.eye(2), 4 * unit**2 * np.eye(2)], [prior, 1 - prior]
    )
    radius = unit * np.sqrt(8 / 3 * (np.log(4) + np.log(prior / (1 - prior)))) if prior > 0.2 else 0.0
    turns = np.linspace(0, 2 * np.pi, 40)
    ring = np.column_stack([np.cos(turns), np.sin(turns)])
    assert (model.predict((radius + 1e-6 * unit) * ring) == 1).all()
    if radius > 0:
        assert (model.predict((radius - 1e-6 * unit) * ring) == 0).all()
        np.testing.assert_allclose(model.predict_proba(radius * ring), 0.5, atol=1e-6)


@pytest.mark.catalogue("DT-07")
def test_scores_differ_by_a_quadric_whose_matrix_is_half_the_difference_of_the_inverse_covariances():
    random = np.random.default_rng(3)
    X, y = random.normal(size=(120, 3)), np.repeat([0, 1], 60)
    X[y == 1] = X[y == 1] @ random.normal(size=(3, 3)) + 1.0
    model = QuadraticDiscriminantAnalysis(priors=[0.3, 0.7]).fit(X, y)
    inverses = [np.linalg.inv(np.cov(X[y == k].T, bias=True)) for k in (0, 1)]

    def differ(rows):
        posteriors = model.predict_log_proba(rows)
        return posteriors[:, 1] - posteriors[:, 0]

    at, steps = random.normal(size=3), np.linspace(-1, 1, 9)[:, None]
    for direction in random.normal(size=(5, 3)):
        values = differ(at + steps * direction)
        # Third differences along any line vanish, and the second is twice the quadratic form.
        np.testing.assert_allclose(np.diff(values, 3), 0.0, atol=1e-9)
        form = 0.5 * direction @ (inverses[0] - inverses[1]) @ direction
        np.testing.assert_allclose(np.diff(values, 2), 2 * form * 0.25**2, rtol=1e-7)
    joint = [
        multivariate_normal(X[y == k].mean(0), np.cov(X[y == k].T, bias=True)).logpdf(at) + np.log([0.3, 0.7][k])
        for k in (0, 1)
    ]
    assert differ(at[None])[0] == pytest.approx(joint[1] - joint[0])


@pytest.mark.catalogue("DT-07")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_classes_with_one_sample_covariance_are_parted_as_the_linear_classifier_parts_them(unit):
    """The other classes are the first, moved: all sample covariances are the same, and so is the pooled one."""
    base = np.random.default_rng(0).normal(size=(40, 3)) @ np.diag([1.0, 3.0, 0.2])
    moves = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 0.3], [0.5, 4.0, 0.0]])
    X, y = unit * np.vstack([base + move for move in moves]), np.repeat([0, 1, 2], 40)
    quadratic, linear = QuadraticDiscriminantAnalysis().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    new = unit * np.random.default_rng(1).normal(size=(50, 3)) * 3
    np.testing.assert_array_equal(quadratic.predict(new), linear.predict(new))
    # The linear classifier pools with n - 3 or n: shares of n give one covariance for both.
    C = np.cov(base.T, bias=True) * unit**2
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    joint = new @ np.linalg.solve(C, means.T) - 0.5 * np.einsum("ki,ij,kj->k", means, np.linalg.inv(C), means)
    posteriors = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    np.testing.assert_allclose(quadratic.predict_proba(new), posteriors, atol=1e-7)


@pytest.mark.parametrize(
    "settings",
    [
        {"store_covariance": True},
        {"reg_param": 0.3},
        {"solver": "eigen"},
        {"solver": "eigen", "shrinkage": "auto"},
        {"solver": "eigen", "shrinkage": 0.2, "priors": [0.2, 0.3, 0.5]},
    ],
    ids=repr,
)
def test_posteriors_are_scikit_learns(settings):
    X, y = WINE
    theirs = sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis(**settings).fit(X, y)
    model = QuadraticDiscriminantAnalysis(**settings).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.scalings_, theirs.scalings_, rtol=1e-8)
    if "store_covariance" in settings:
        np.testing.assert_allclose(model.covariance_, theirs.covariance_, rtol=1e-8)


def test_batches_give_the_model_of_one_fit_and_the_objective_is_the_mean_log_likelihood():
    X, y = WINE
    whole, model = QuadraticDiscriminantAnalysis().fit(X, y), QuadraticDiscriminantAnalysis()
    order = np.random.default_rng(0).permutation(len(X))
    for rows in np.array_split(order, 2):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    scores = whole.decision_function(X)[np.arange(len(X)), y] - 0.5 * X.shape[1] * np.log(2 * np.pi)
    assert whole.history_["objective"][0] == pytest.approx(scores.mean())


def test_a_class_not_met_yet_is_never_predicted():
    X, y = WINE
    model = QuadraticDiscriminantAnalysis().partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert np.all(model.predict_proba(X)[:, 2] == 0)
    assert set(model.predict(X)) == {0, 1}


def test_more_classes_than_memory_holds_are_refused_with_the_numbers():
    X, y = np.random.default_rng(0).normal(size=(4000, 200)), np.repeat(np.arange(1000), 4)
    with mercer.config_context(max_memory="100 MiB"), pytest.raises(MemoryError, match="covariances of 1000 classes"):
        QuadraticDiscriminantAnalysis().fit(X, y)


def test_singular_classes_are_errors_with_the_cure():
    X, y = WINE
    flat = np.c_[X, np.ones(len(X))]
    with pytest.raises(
        LinAlgError, match=r"covariance matrix of class 0 is not full rank. Increase the value of `reg_param`"
    ):
        QuadraticDiscriminantAnalysis().fit(flat, y)
    with pytest.raises(DataError, match=r"class 0 has 10 samples and 13 features. Try using `solver='eigen'`"):
        QuadraticDiscriminantAnalysis().fit(np.r_[X[y == 0][:10], X[y == 1]], np.r_[[0] * 10, [1] * 71])
    with pytest.raises(DataError, match="y has only 1 sample in class 0"):
        QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X[58:], y[58:])
    assert QuadraticDiscriminantAnalysis(reg_param=0.01).fit(flat, y).score(flat, y) > 0.9


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e6])
@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_the_unit_of_the_rows_does_not_make_a_covariance_singular(solver, unit):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    X[y == 1] *= 2.0
    plain = QuadraticDiscriminantAnalysis(solver=solver).fit(X, y)
    scaled = QuadraticDiscriminantAnalysis(solver=solver).fit(unit * X, y)
    np.testing.assert_allclose(scaled.predict_proba(unit * X), plain.predict_proba(X), rtol=1e-6, atol=1e-12)
    with pytest.raises(LinAlgError, match="not full rank"):
        QuadraticDiscriminantAnalysis(solver=solver).fit(unit * np.c_[X, X[:, 0]] * 1e-3, y)
