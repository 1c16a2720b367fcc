"""RidgeCV: leave-one-out errors for all penalties from one decomposition, against fits without each row."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import RidgeCV as Reference
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold, ShuffleSplit

from mercer._source import open_source
from mercer._source.block import DenseBlock
from mercer.errors import DataError, ParameterError
from mercer.linear_model import Ridge, RidgeCV
from mercer.linear_model._solvers.closed_form.ridge_choice import LeaveOneOut, LeaveOneOutErrors

ALPHAS = np.logspace(-4, 4, 9)
SHAPES = [(30, 4), (6, 20)]


def make(shape, n_targets=2):
    random = np.random.default_rng(0)
    X = random.normal(size=shape) + 3.0
    return X, X[:, :n_targets] * [2.0, -1.0][:n_targets] + random.normal(size=(shape[0], n_targets)) + 50.0


def leave_out(X, y, alpha, weight, fit_intercept):
    """Return errors by refitting without one copy of each row."""
    errors = np.empty_like(y)
    for i in range(len(X)):
        less = weight.copy()
        less[i] -= min(1.0, weight[i])
        model = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y, sample_weight=less)
        errors[i] = y[i] - model.predict(X[i : i + 1])[0]
    return errors


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("gcv_mode", ["svd", "eigen"])
def test_the_errors_are_those_of_fits_without_each_row(shape, fit_intercept, gcv_mode):
    X, y = make(shape)
    weight = np.resize([1.0, 2.0, 0.5, 3.0], shape[0])
    options = {"store_cv_results": True, "gcv_mode": gcv_mode, "fit_intercept": fit_intercept}
    model = RidgeCV(ALPHAS, **options).fit(X, y, sample_weight=weight)
    for number in (0, 4, 8):
        expected = weight[:, None] * leave_out(X, y, ALPHAS[number], weight, fit_intercept) ** 2
        # A row that is met by chance has an error of rounding, in the unit of the largest.
        np.testing.assert_allclose(model.cv_results_[:, :, number], expected, rtol=1e-6, atol=1e-9 * expected.max())
    assert model.best_score_ == pytest.approx(-(model.cv_results_.sum(axis=0) / weight.sum()).mean(axis=0).min())


@pytest.mark.parametrize("shape", SHAPES)
def test_choice_score_and_coefficients_are_scikit_learns(shape):
    X, y = make(shape)
    ours, theirs = RidgeCV(ALPHAS).fit(X, y), Reference(ALPHAS).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_fit_is_that_of_ridge_with_the_chosen_penalty(shape):
    X, y = make(shape)
    model = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, y)
    expected = Ridge(alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
    singles = [RidgeCV(ALPHAS).fit(X, column) for column in y.T]
    assert model.alpha_.tolist() == [single.alpha_ for single in singles]
    np.testing.assert_allclose(model.best_score_, [single.best_score_ for single in singles])
    assert model.certificate_.satisfied


@pytest.mark.parametrize("shape", SHAPES)
def test_a_scorer_sees_the_leave_one_out_predictions(shape):
    X, y = make(shape)
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    model = RidgeCV(ALPHAS, scoring=scorer, store_cv_results=True).fit(X, y)
    errors = [mean_absolute_error(y, model.cv_results_[:, :, number]) for number in range(len(ALPHAS))]
    assert model.best_score_ == pytest.approx(-min(errors))
    assert model.alpha_ == ALPHAS[int(np.argmin(errors))]
    expected = y - leave_out(X, y, ALPHAS[3], np.ones(len(X)), True)
    np.testing.assert_allclose(model.cv_results_[:, :, 3], expected, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cv", [3, KFold(3, shuffle=True, random_state=0), ShuffleSplit(4, random_state=0)])
def test_folds_choose_as_scikit_learns_do(shape, cv):
    X, y = make(shape)
    ours, theirs = (one(ALPHAS, cv=cv, scoring="neg_mean_squared_error").fit(X, y) for one in (RidgeCV, Reference))
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_repetitions_in_the_choice_too(shape):
    X, y = make(shape)
    weight = np.resize([1, 3, 0, 2], shape[0])
    weighted = RidgeCV(ALPHAS).fit(X, y, sample_weight=weight)
    repeated = RidgeCV(ALPHAS).fit(X.repeat(weight, axis=0), y.repeat(weight, axis=0))
    assert weighted.alpha_ == repeated.alpha_
    assert weighted.best_score_ == pytest.approx(repeated.best_score_, rel=1e-8)


def test_rows_of_weight_zero_are_predicted_by_the_others():
    X, y = make((6, 20))
    weight = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    model = RidgeCV([2.0], scoring="r2", store_cv_results=True).fit(X, y, sample_weight=weight)
    kept = weight > 0
    expected = Ridge(alpha=2.0).fit(X[kept], y[kept]).predict(X[2:3])[0]
    np.testing.assert_allclose(model.cv_results_[2, :, 0], expected, rtol=1e-9)


def test_sparse_rows_and_blocks_give_the_same_errors():
    X, y = make((3000, 40))
    X = np.where(np.abs(X) < 3.0, 0.0, X)
    dense, sparse = RidgeCV(ALPHAS).fit(X, y), RidgeCV(ALPHAS).fit(scipy.sparse.csr_array(X), y)
    assert dense.best_score_ == pytest.approx(sparse.best_score_, rel=1e-10)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8)
    listed = RidgeCV(ALPHAS).fit([(X[:1000], y[:1000]), (X[1000:], y[1000:])])
    assert listed.best_score_ == pytest.approx(dense.best_score_, rel=1e-10)


@pytest.mark.parametrize("decades", [0.1, 4, 10])
def test_thin_factors_give_the_errors_of_a_hundred_penalties(decades):
    """Compare leverages and fits from the factors with those of each penalty, for columns of like and unlike sizes."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 12)) * np.logspace(0, decades / 2, 12)
    y, alphas = random.normal(size=(300, 2)), np.logspace(-3, 6, 100)
    model = RidgeCV(alphas, alpha_per_target=True).fit(X, y)
    rows = np.column_stack([np.ones(300), X])
    errors = []
    for alpha in alphas:
        normal = rows.T @ rows + alpha * np.diag(np.arange(13) > 0)
        # Columns of one size: without it the solution would have no more digits than the squared sizes leave.
        size = np.sqrt(np.diagonal(normal))
        hat = (rows / size) @ np.linalg.solve(normal / np.outer(size, size), (rows / size).T)
        errors.append(np.mean(((y - hat @ y) / (1 - np.diagonal(hat))[:, None]) ** 2, axis=0))
    condition = np.linalg.cond(X)
    np.testing.assert_allclose(model.best_score_, -np.min(errors, axis=0), rtol=max(1e-10, 100 * 2e-16 * condition))
    assert np.array_equal(model.alpha_, alphas[np.argmin(errors, axis=0)])


def test_compiled_sums_are_those_of_the_definition():
    random = np.random.default_rng(0)
    parts = [0.1 * random.random(size=shape) for shape in ((3, 3), (3, 4), (4, 300), (3, 8), (3,), (2,))]
    statistic = LeaveOneOut(LeaveOneOutErrors(*parts, 0.125))
    X, y = random.normal(size=(50, 3)), random.normal(size=(50, 2))
    for weight in (None, np.linspace(0.0, 2.0, 50)):
        block = DenseBlock(X, 0, y, weight)
        np.testing.assert_allclose(statistic.native(block), statistic.of(block), rtol=1e-12)


def test_the_statistic_runs_on_array_api_arrays():
    import array_api_strict as xp

    random = np.random.default_rng(0)
    parts = [0.1 * random.random(size=shape) for shape in ((3, 3), (3, 4), (4, 5), (3, 8), (3,), (2,))]
    X, y, weight = random.normal(size=(8, 3)), random.normal(size=(8, 2)), np.linspace(0.5, 2.0, 8)
    expected = open_source(X, y, weight).reduce(LeaveOneOut(LeaveOneOutErrors(*parts, 0.125)))
    strict = LeaveOneOut(LeaveOneOutErrors(*(xp.asarray(part) for part in parts), 0.125))
    found = strict.of(DenseBlock(xp.asarray(X), 0, xp.asarray(y), xp.asarray(weight), xp))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


def test_what_folds_cannot_give_is_refused():
    X, y = make((12, 3))
    for name in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ParameterError, match=f"cv!=None and {name}=True are incompatible; set cv=None"):
            RidgeCV(cv=3, **{name: True}).fit(X, y)
    with pytest.raises(ParameterError, match=r"alphas\[1\] == -1, must be > 0.0 and finite. Drop it."):
        RidgeCV((1, -1)).fit(X, y)
    with pytest.raises(DataError, match="cross-validation by folds needs all rows in memory"):
        RidgeCV(cv=3).fit([(X, y), (X, y)])
    with pytest.raises(DataError, match="a scorer, or store_cv_results, needs all rows in memory"):
        RidgeCV(scoring="r2").fit([(X, y), (X, y)])
