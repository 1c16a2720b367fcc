"""Inference: certified values, closed forms, and refits without each row."""

import numpy as np
import pytest
import scipy.sparse
from scipy import stats
from scipy.linalg import LinAlgWarning

import mercer
from mercer.errors import DataError, ParameterError
from mercer.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    inference,
    leave_one_out_residuals,
    leverages,
)

# J. W. Longley, An appraisal of least squares programs, 1967; the classic of ill-conditioned regressions.
LONGLEY = np.array(
    [
        (60323, 83.0, 234289, 2356, 1590, 107608, 1947),
        (61122, 88.5, 259426, 2325, 1456, 108632, 1948),
        (60171, 88.2, 258054, 3682, 1616, 109773, 1949),
        (61187, 89.5, 284599, 3351, 1650, 110929, 1950),
        (63221, 96.2, 328975, 2099, 3099, 112075, 1951),
        (63639, 98.1, 346999, 1932, 3594, 113270, 1952),
        (64989, 99.0, 365385, 1870, 3547, 115094, 1953),
        (63761, 100.0, 363112, 3578, 3350, 116219, 1954),
        (66019, 101.2, 397469, 2904, 3048, 117388, 1955),
        (67857, 104.6, 419180, 2822, 2857, 118734, 1956),
        (68169, 108.4, 442769, 2936, 2798, 120445, 1957),
        (66513, 110.8, 444546, 4681, 2637, 121950, 1958),
        (68655, 112.6, 482704, 3813, 2552, 123366, 1959),
        (69564, 114.2, 502601, 3931, 2514, 125368, 1960),
        (69331, 115.7, 518173, 4806, 2572, 127852, 1961),
        (70551, 116.9, 554894, 4007, 2827, 130081, 1962),
    ]
)
# The certified values of the Statistical Reference Datasets of NIST.
ESTIMATES = [-3482258.63459582, 15.0618722713733, -0.0358191792925910, -2.02022980381683, -1.03322686717359]
ESTIMATES += [-0.0511041056535807, 1829.15146461355]
ERRORS = [890420.383607373, 84.9149257747669, 0.0334910077722432, 0.488399681651699, 0.214274163161675]
ERRORS += [0.226073200069370, 455.478499142212]


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)) + 2.0
    return X, X @ [1.0, 0.0, -2.0] + 5.0 + random.normal(size=40)


@pytest.mark.catalogue("LM-01")
def test_longleys_regression_has_its_certified_values():
    X, y = LONGLEY[:, 1:], LONGLEY[:, 0]
    found = LinearRegression(tol=1e-12).fit(X, y).infer(X, y)
    np.testing.assert_allclose(found.estimates, ESTIMATES, rtol=1e-10)
    np.testing.assert_allclose(found.standard_errors, ERRORS, rtol=1e-10)
    assert np.sqrt(found.noise_variance) == pytest.approx(304.854073561965, rel=1e-9)
    assert found.r_squared == pytest.approx(0.995479004577296, rel=1e-12)
    assert found.test == pytest.approx(330.285339234588, rel=1e-9)
    assert found.residual_freedom == 9


def test_t_tests_and_intervals_are_those_of_the_textbook(data):
    X, y = data
    model = LinearRegression().fit(X, y)
    found = model.infer(X, y, confidence=0.9)
    assert model.inference_ is found
    Z = np.column_stack([np.ones(40), X])
    covariance = model.residual_variance_ * np.linalg.inv(Z.T @ Z)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-9)
    t = found.estimates / np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(found.p_values, 2 * stats.t(36).sf(np.abs(t)), rtol=1e-8)
    half = stats.t(36).ppf(0.95) * found.standard_errors
    np.testing.assert_allclose(found.intervals, np.column_stack([found.estimates - half, found.estimates + half]))
    assert found.test_p_value == pytest.approx(stats.f(3, 36).sf(found.test))
    expected = stats.norm(model.predict(X), np.sqrt(np.mean(model.residuals(X, y) ** 2))).logpdf(y).sum()
    assert found.log_likelihood == pytest.approx(expected)
    assert found.aic == pytest.approx(8 - 2 * expected)
    assert found.bic == pytest.approx(4 * np.log(40) - 2 * expected)


def test_intervals_cover_the_truth_as_often_as_they_promise():
    random, hits = np.random.default_rng(0), []
    X = random.normal(size=(25, 2))
    for _ in range(400):
        y = X @ [1.0, -1.0] + 0.5 + random.normal(size=25)
        lower, upper = LinearRegression().fit(X, y).infer(X, y, confidence=0.8).intervals.T
        hits.append((lower <= [0.5, 1.0, -1.0]) & (upper >= [0.5, 1.0, -1.0]))
    assert np.mean(hits) == pytest.approx(0.8, abs=3 * np.sqrt(0.16 / 1200))


@pytest.mark.catalogue("LM-02")
def test_influence_is_that_of_refits_without_each_row(data):
    X, y = data
    model = LinearRegression().fit(X, y)
    found = model.infer(X, y)
    np.testing.assert_allclose(found.leverages, leverages(X), rtol=1e-9)
    assert found.leverages.sum() == pytest.approx(4.0)
    np.testing.assert_allclose(found.leave_one_out_residuals, leave_one_out_residuals(X, y), rtol=1e-9)
    for i in (0, 7, 39):
        kept = np.arange(40) != i
        moved = model.predict(X) - LinearRegression().fit(X[kept], y[kept]).predict(X)
        expected = moved @ moved / (4 * found.noise_variance)
        assert found.cooks_distances[i] == pytest.approx(expected, rel=1e-8)


def test_ridge_has_the_variance_of_its_estimates_and_its_effective_freedom(data):
    X, y = data
    found = Ridge(alpha=5.0).fit(X, y).infer(X, y)
    centred = X - X.mean(axis=0)
    shrink = np.linalg.solve(centred.T @ centred + 5.0 * np.eye(3), centred.T)
    expected = found.noise_variance * shrink @ shrink.T
    np.testing.assert_allclose(found.covariance[1:, 1:], expected, rtol=1e-9)
    assert found.effective_freedom == pytest.approx(1.0 + np.trace(shrink @ centred))


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(0.3), LogisticRegression(C=np.inf, tol=1e-10)])
def test_weights_are_repetitions_and_sparse_rows_give_the_same(model, data):
    X, y = data
    y = (y > np.median(y)).astype(int) if isinstance(model, LogisticRegression) else y
    X = X + np.random.default_rng(1).normal(size=X.shape)
    weight = np.resize([1, 2, 0, 3], 40)
    repeated = X.repeat(weight, axis=0), y.repeat(weight)
    expected = model.fit(*repeated).infer(*repeated)
    for rows in (X, scipy.sparse.csr_array(X)):
        found = model.fit(rows, y, sample_weight=weight).infer(rows, y, weight.astype(float))
        for name in ("estimates", "standard_errors", "p_values", "aic", "bic", "r_squared", "test"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, err_msg=name)


def test_a_two_by_two_table_has_the_error_of_its_log_odds_ratio():
    counts = np.array([[20, 30], [35, 15]])
    X = np.repeat([[0.0], [0.0], [1.0], [1.0]], counts.ravel(), axis=0)
    y = np.repeat([0, 1, 0, 1], counts.ravel())
    found = LogisticRegression(C=np.inf, tol=1e-12).fit(X, y).infer(X, y)
    assert found.names == ["intercept", "x0"]
    assert found.estimates[1] == pytest.approx(np.log(15 * 20 / (35 * 30)))
    assert found.standard_errors[1] == pytest.approx(np.sqrt(np.sum(1 / counts)))
    assert found.standard_errors[0] == pytest.approx(np.sqrt(1 / 20 + 1 / 30))
    assert found.p_values[1] == pytest.approx(2 * stats.norm.sf(abs(found.statistics[1])))
    shares = counts / counts.sum(axis=1, keepdims=True)
    likelihood = np.sum(counts * np.log(shares))
    assert found.log_likelihood == pytest.approx(likelihood)
    alone = 55 * np.log(0.55) + 45 * np.log(0.45)
    assert found.r_squared == pytest.approx(1 - likelihood / alone)
    assert found.test == pytest.approx(2 * (likelihood - alone))
    assert found.test_p_value == pytest.approx(stats.chi2(1).sf(found.test))


def test_softmax_of_two_classes_has_half_the_error_of_logistic():
    """Check that estimates and errors halve: scores z and 0 become z / 2 and -z / 2."""
    from mercer.linear_model._inference.logistic import _inverse

    random = np.random.default_rng(0)
    F = np.cov(random.normal(size=(50, 3)).T)
    both = np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), F)
    np.testing.assert_allclose(_inverse(None, both, 2)[:3, :3], np.linalg.inv(F) / 4.0, rtol=1e-9)


def test_softmax_differences_have_the_errors_of_reference_coding():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(150, 2)), random.integers(0, 3, size=150)
    found = LogisticRegression(C=np.inf, tol=1e-10, max_iter=500, solver="newton-cholesky").fit(X, y).infer(X, y)
    assert found.estimates.shape == (3, 3)
    # Fisher information in the coordinates of two scores against the third class.
    Z = np.column_stack([np.ones(150), X])
    scores = Z @ found.estimates.T
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    parts = [[(Z * (P[:, [i]] * ((i == j) - P[:, [j]]))).T @ Z for j in (0, 1)] for i in (0, 1)]
    reference = np.linalg.inv(np.block(parts))
    difference = np.kron(np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]), np.eye(3))
    np.testing.assert_allclose(difference @ found.covariance @ difference.T, reference, rtol=1e-5)
    assert found.effective_freedom == pytest.approx(6.0, abs=1e-6)


def test_it_prints_survives_saving_and_is_forgotten_by_the_next_fit(data, tmp_path):
    X, y = data
    model = LinearRegression().fit(X, y)
    text = str(model.infer(X, y))
    assert text.splitlines()[1].startswith("intercept")
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").inference_.p_values, model.inference_.p_values)
    assert not hasattr(model.fit(X, y), "inference_")


def test_what_has_no_errors_is_refused(data):
    X, y = data
    twice = np.hstack([X, X])
    with pytest.warns(LinAlgWarning, match="6 columns have rank 3"):
        model = LinearRegression().fit(twice, y)
    with pytest.raises(DataError, match="standard errors need columns of full rank"):
        inference(model, twice, y)
    with pytest.raises(ParameterError, match="confidence must be a number in"):
        inference(LinearRegression().fit(X, y), X, y, confidence=95)
    with pytest.raises(ParameterError, match="fit with positive=False"):
        inference(LinearRegression(positive=True).fit(X, y), X, y)
    labels = (y > 0).astype(int)
    with pytest.raises(ParameterError, match="an l1 penalty has set to zero"):
        inference(LogisticRegression(solver="auto", l1_ratio=1.0).fit(X, labels), X, labels)
    with pytest.raises(ParameterError, match="leave nothing of 4 rows"):
        inference(LinearRegression().fit(X[:4], y[:4]), X[:4], y[:4])


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2, 3], [5, 6, 7]])
def test_labels_of_other_classes_than_those_of_the_fit_are_refused(labels):
    """Native code reads one score for each class of the labels."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    model = LogisticRegression().fit(rows, np.arange(60) % 3)
    with pytest.raises(DataError, match="infer needs the rows of the fit, with labels of all its 3 classes"):
        model.infer(rows, np.asarray(labels)[np.arange(60) % len(labels)])
