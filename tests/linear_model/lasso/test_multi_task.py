"""Several targets with the same columns: scikit-learn's answers, conditions of the optimum, ways of descent, folds."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model

from mercer.linear_model import (
    ElasticNet,
    Lasso,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    Ridge,
)


def draw(n=120, d=15, k=3, used=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 2.0
    W = np.zeros((d, k))
    W[:used] = random.normal(size=(used, k))
    return X, X @ W + 0.5 * random.normal(size=(n, k)) - 3.0


@pytest.mark.parametrize("ratio", [1.0, 0.6])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_answers_are_those_of_scikit_learn(ratio, fit_intercept, weighted):
    X, Y = draw()
    weight = np.random.default_rng(1).random(len(X)) if weighted else None
    settings = {"alpha": 0.1, "l1_ratio": ratio, "fit_intercept": fit_intercept, "tol": 1e-10, "max_iter": 5000}
    ours = MultiTaskElasticNet(**settings).fit(X, Y, sample_weight=weight)
    theirs = sklearn.linear_model.MultiTaskElasticNet(**settings).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert ours.converged_
    assert ours.eps_ == pytest.approx(theirs.eps_, rel=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_slopes_of_a_used_column_are_along_its_coefficients_and_others_are_short(factor):
    X, Y = draw()
    X, Y, alpha = X * factor, Y * factor, 0.2 * factor**2
    model = MultiTaskLasso(alpha, tol=1e-12, max_iter=10_000).fit(X, Y)
    slopes = (X - X.mean(axis=0)).T @ (Y - model.predict(X)) / len(X)
    norms = np.linalg.norm(model.coef_, axis=0)
    assert 3 <= np.count_nonzero(norms) < 15
    inside = norms > 0
    directions = (model.coef_ / np.where(inside, norms, 1.0)).T
    np.testing.assert_allclose(slopes[inside], alpha * directions[inside], rtol=1e-4)
    assert (np.linalg.norm(slopes[~inside], axis=1) <= alpha * (1 + 1e-6)).all()


def test_one_target_is_the_plain_lasso():
    X, Y = draw(k=1)
    joint = MultiTaskElasticNet(0.1, l1_ratio=0.7, tol=1e-10).fit(X, Y)
    single = ElasticNet(0.1, l1_ratio=0.7, tol=1e-10).fit(X, Y[:, 0])
    np.testing.assert_allclose(joint.coef_[0], single.coef_, atol=1e-7)
    assert joint.coef_.shape == (1, 15)
    assert joint.intercept_.shape == (1,)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("sparse", [True, False])
def test_working_sets_find_what_the_gram_matrix_of_all_columns_finds(ratio, sparse):
    X, Y = draw(60, 700, used=5)
    X = np.where(X > 2.0, X, 0.0)
    weight = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    rows = scipy.sparse.csr_array(X) if sparse else X
    settings = {"alpha": 0.3, "l1_ratio": ratio, "tol": 1e-9, "max_iter": 20_000}
    wide = MultiTaskElasticNet(**settings).fit(rows, Y, sample_weight=weight)
    assert wide.solver_used_ == "working sets"
    assert wide.converged_
    theirs = sklearn.linear_model.MultiTaskElasticNet(**settings).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(wide.coef_, theirs.coef_, atol=1e-4)


def test_a_large_working_set_descends_on_its_columns(monkeypatch):
    from mercer.linear_model._solvers.lasso.task_descent import TaskWorkingSet

    X, Y = draw(60, 700, used=5)
    settings = {"alpha": 0.05, "l1_ratio": 0.3, "tol": 1e-8, "max_iter": 20_000}
    on_columns = MultiTaskElasticNet(**settings).fit(X, Y)
    monkeypatch.setattr(TaskWorkingSet, "has_gram", True)
    on_gram = MultiTaskElasticNet(**settings).fit(X, Y)
    assert np.count_nonzero(on_columns.coef_.any(axis=0)) > 120
    np.testing.assert_allclose(on_columns.coef_, on_gram.coef_, atol=1e-5)
    assert on_columns.converged_


def test_without_an_l1_part_the_closed_form_is_used():
    X, Y = draw()
    with pytest.warns(UserWarning, match="With alpha=0"):
        plain = MultiTaskLasso(0).fit(X, Y)
    np.testing.assert_allclose(plain.coef_, sklearn.linear_model.LinearRegression().fit(X, Y).coef_, atol=1e-8)
    ridge = MultiTaskElasticNet(0.5, l1_ratio=0).fit(X, Y)
    np.testing.assert_allclose(ridge.coef_, Ridge(0.5 * len(X)).fit(X, Y).coef_, atol=1e-8)
    assert ridge.certificate_.satisfied


def test_a_penalty_at_the_first_of_the_path_leaves_nothing_and_a_warm_start_goes_on():
    X, Y = draw()
    top = np.linalg.norm((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)), axis=1).max() / len(X)
    assert not MultiTaskLasso(top * 1.0001).fit(X, Y).coef_.any()
    assert MultiTaskLasso(top * 0.999, tol=1e-9).fit(X, Y).coef_.any()
    model = MultiTaskLasso(0.1, warm_start=True, tol=1e-8).fit(X, Y)
    assert model.fit(X, Y).n_iter_ <= 2


@pytest.mark.parametrize("columns", [15, 600])
def test_folds_choose_as_scikit_learns_do(columns):
    X, Y = draw(80, columns)
    settings = {"alphas": 8, "eps": 0.05, "cv": 4, "tol": 1e-12, "max_iter": 100_000}
    for ours, theirs, more in (
        (MultiTaskLassoCV, sklearn.linear_model.MultiTaskLassoCV, {}),
        (MultiTaskElasticNetCV, sklearn.linear_model.MultiTaskElasticNetCV, {"l1_ratio": [0.4, 0.9]}),
    ):
        first, second = (one(**settings, **more).fit(X, Y) for one in (ours, theirs))
        assert first.alpha_ == pytest.approx(second.alpha_)
        np.testing.assert_allclose(first.mse_path_, second.mse_path_, rtol=1e-4)
        np.testing.assert_allclose(first.alphas_, second.alphas_)
        np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-4)
        assert first.coef_.shape == (3, columns)
        assert first.converged_
    assert first.l1_ratio_ == second.l1_ratio_


def test_one_number_a_row_is_refused_with_the_class_to_use():
    X, Y = draw()
    for model, name in (
        (MultiTaskLasso(), "Lasso"),
        (MultiTaskElasticNet(), "ElasticNet"),
        (MultiTaskLassoCV(), "LassoCV"),
    ):
        with pytest.raises(ValueError, match=f"For mono-task outputs, use {name}; got y with one number a row"):
            model.fit(X, Y[:, 0])
    assert Lasso().fit(X, Y).coef_.shape == (3, 15)
