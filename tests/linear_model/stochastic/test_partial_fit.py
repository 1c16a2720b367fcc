"""Least squares and ridge batch by batch: equal to one fit over all rows, from sums alone."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import LinAlgWarning

import mercer
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge

X = np.random.default_rng(0).normal(size=(900, 6)) @ np.random.default_rng(1).normal(size=(6, 6)) + 4.0
Y = X @ np.random.default_rng(2).normal(size=(6, 2)) + np.random.default_rng(3).normal(size=(900, 2))
WEIGHT = (np.arange(900.0) + 1) % 4
# Sums of products lose the square of the condition number of the centred rows; 1e-10 if they have a good one.
ROUNDING = max(1e-10, 10 * np.finfo(float).eps * np.linalg.cond(X - X.mean(axis=0)) ** 2)
CUTS = [slice(0, 3), slice(3, 400), slice(400, 401), slice(401, 900)]
MODELS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    LinearRegression(positive=True),
    Ridge(alpha=[0.5, 20.0]),
    Ridge(fit_intercept=False, solver="cholesky"),
    Ridge(positive=True),
]


def fresh(model, **changes):
    return type(model)(**{**model.get_params(), **changes})


def in_batches(model, X, y, weight=None, cuts=CUTS):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)  # three rows do not determine six coefficients
        for cut in cuts:
            model.partial_fit(X[cut], y[cut], sample_weight=None if weight is None else weight[cut])
    return model


def assert_same_model(one, other):
    for name in ("coef_", "intercept_", "singular_", "residual_variance_"):
        if hasattr(one, name):
            expected = np.asarray(getattr(one, name))
            np.testing.assert_allclose(getattr(other, name) - expected, 0.0, atol=ROUNDING * np.abs(expected).max())


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_batches_give_the_model_of_one_fit_over_all_rows(model, weight):
    one = fresh(model).fit(X, Y, sample_weight=weight)
    many = in_batches(fresh(model), X, Y, weight)
    assert_same_model(one, many)
    assert many.n_samples_seen_ == (900 if weight is None else WEIGHT.sum())
    assert {name for name in vars(many) if name.endswith("_")} - {"n_samples_seen_"} == {
        name for name in vars(one) if name.endswith("_")
    }


def test_a_line_through_three_points_that_come_one_by_one():
    model = LinearRegression()
    with pytest.warns(LinAlgWarning):
        model.partial_fit([[0.0]], [0.0])
    model.partial_fit([[1.0]], [1.0]).partial_fit([[2.0]], [5.0])
    assert model.coef_ == pytest.approx([2.5])
    assert model.intercept_ == pytest.approx(-0.5)
    assert model.residual_variance_ == pytest.approx(1.5)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(alpha=3.0)], ids=repr)
def test_the_certificate_is_the_gradient_over_all_rows_seen(model):
    many = in_batches(model, X, Y[:, 0])
    rows, targets = X - X.mean(axis=0), Y[:, 0] - Y[:, 0].mean()
    gradient = rows.T @ (targets - rows @ many.coef_) - getattr(many, "alpha", 0.0) * many.coef_
    scale = np.linalg.norm(rows) * np.linalg.norm(targets)
    assert np.linalg.norm(gradient) / scale < 1e-14
    assert many.certificate_.value < 1e-14
    assert many.certificate_.satisfied
    assert many.converged_
    assert len(many.history_["objective"]) == 1


def test_columns_that_others_determine_get_the_shortest_coefficients_with_a_warning():
    wide = np.c_[X, X[:, 0] + X[:, 1], X[:, 2]]
    with pytest.warns(LinAlgWarning, match="rank 6"):
        one = LinearRegression().fit(wide, Y)
    many = in_batches(LinearRegression(), wide, Y)
    assert many.solver_used_ == "eigh"
    assert many.rank_ == one.rank_ == 6
    near = {"rtol": 0, "atol": 10 * ROUNDING * np.abs(one.coef_).max()}
    np.testing.assert_allclose(many.coef_, one.coef_, **near)
    with pytest.warns(LinAlgWarning, match="'eigh' was used instead of 'cholesky'; raise alpha"):
        ridge = Ridge(alpha=0.0).partial_fit(wide, Y)
    np.testing.assert_allclose(ridge.coef_, one.coef_, **near)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_digits_are_lost_as_the_documentation_says(condition):
    random = np.random.default_rng(5)
    left, _ = np.linalg.qr(random.normal(size=(600, 5)))
    right, _ = np.linalg.qr(random.normal(size=(5, 5)))
    rows = (left * np.logspace(0, -np.log10(condition), 5)) @ right
    model = in_batches(LinearRegression(tol=0, fit_intercept=False), rows, rows @ np.ones(5), cuts=[slice(0, 600)])
    assert np.abs(model.coef_ - 1.0).max() < 1e-14 * condition**2


def test_what_is_kept_does_not_grow_with_the_rows():
    model = Ridge().partial_fit(X, Y)
    size = len(pickle.dumps(model))
    for _ in range(5):
        model.partial_fit(X, Y)
    assert len(pickle.dumps(model)) == size


def test_parameters_may_change_between_calls():
    model = in_batches(Ridge(alpha=100.0), X, Y, cuts=[slice(0, 500)])
    model.set_params(alpha=2.0, fit_intercept=False).partial_fit(X[500:], Y[500:])
    assert_same_model(Ridge(alpha=2.0, fit_intercept=False).fit(X, Y), model)


def test_a_saved_model_goes_on_where_it_stopped(tmp_path):
    model = in_batches(LinearRegression(), X, Y, cuts=[slice(0, 500)])
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    for one in (model, loaded):
        one.partial_fit(X[500:], Y[500:])
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.n_samples_seen_ == 900


@pytest.mark.parametrize("model", [Ridge(n_jobs=1), LinearRegression(n_jobs=3)], ids=repr)
def test_rows_may_come_from_any_place(model):
    one = in_batches(fresh(model), X, Y)
    pairs = [(X[cut], Y[cut]) for cut in CUTS]
    streamed = fresh(model).partial_fit(iter(pairs))
    assert_same_model(one, streamed)
    sparse = fresh(model).partial_fit(scipy.sparse.csr_array(X[:500]), Y[:500]).partial_fit(X[500:], Y[500:])
    assert_same_model(one, sparse)


def test_types_join_as_those_of_rows_do():
    small = Ridge().partial_fit(X[:400].astype(np.float32), Y[:400, 0])
    assert small.coef_.dtype == np.float32
    assert small.partial_fit(X[400:], Y[400:, 0]).coef_.dtype == np.float64


def test_fit_forgets_the_batches_and_a_failed_call_leaves_the_model_as_it_was():
    model = in_batches(Ridge(), X, Y)
    coef = model.coef_
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.partial_fit(X * np.nan, Y)
    with pytest.raises(
        DataError, match=r"Ridge: y must have the shape it had in the first batch, \[2\] for a row; got"
    ):
        model.partial_fit(X, Y[:, 0])
    assert model.coef_ is coef
    assert model.n_samples_seen_ == 900
    model.fit(X[:100], Y[:100])
    assert not hasattr(model, "n_samples_seen_")
    assert not hasattr(model, "_seen")
    with pytest.warns(UserWarning, match="Ridge: partial_fit adds to sums that fit does not keep") as caught:
        model.partial_fit(X, Y)
    assert caught[0].filename == __file__
    assert_same_model(Ridge().fit(X, Y), model)


def test_methods_that_need_the_rows_have_no_partial_fit():
    assert not hasattr(LogisticRegression(), "partial_fit")
    for solver in ("svd", "lsqr", "sparse_cg", "sag", "saga"):
        assert not hasattr(Ridge(solver=solver), "partial_fit")
    with pytest.raises(AttributeError, match="'Ridge' has no attribute 'partial_fit'") as caught:
        Ridge(solver="sag").partial_fit(X, Y)
    assert isinstance(caught.value.__cause__, ParameterError)
    assert str(caught.value.__cause__).endswith("got 'sag'. Set solver='auto', or call fit.")
