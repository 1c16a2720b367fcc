"""LogisticRegressionCV: paths on folds are single fits, and the choice is the best mean score."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV as Reference
from sklearn.metrics import accuracy_score, log_loss, make_scorer
from sklearn.model_selection import StratifiedKFold

from mercer.errors import ParameterError
from mercer.linear_model import LogisticRegression, LogisticRegressionCV

CANCER = load_breast_cancer().data
CANCER = (CANCER - CANCER.mean(axis=0)) / CANCER.std(axis=0)
BENIGN = load_breast_cancer().target
IRIS = load_iris().data
SPECIES = load_iris().target
DATA = {"two classes": (CANCER[:200, :6], BENIGN[:200]), "three classes": (IRIS, np.array(["a", "b", "c"])[SPECIES])}
SETTINGS = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False, "cv": 3}


@pytest.mark.parametrize("data", DATA)
def test_each_point_of_a_path_is_a_fit_to_the_training_rows(data):
    X, y = DATA[data]
    model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0], tol=1e-8, **SETTINGS).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for number, C in enumerate(model.Cs_):
            single = LogisticRegression(C=C, tol=1e-8).fit(X[train], y[train])
            found = model.coefs_paths_[fold, 0, number]
            np.testing.assert_allclose(found[:, :-1], single.coef_, atol=1e-5)
            expected = -log_loss(y[test], single.predict_proba(X[test]))
            assert model.scores_[fold, 0, number] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("data", DATA)
def test_the_best_mean_score_is_fitted_to_all_rows(data):
    X, y = DATA[data]
    model = LogisticRegressionCV(Cs=5, tol=1e-8, **SETTINGS).fit(X, y)
    assert model.Cs_[model.scores_.mean(axis=0)[0].argmax()] == model.C_
    expected = LogisticRegression(C=model.C_, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    assert model.certificate_.kind == "duality gap"
    assert model.certificate_.satisfied
    assert model.score(X, y) == pytest.approx(-log_loss(y, model.predict_proba(X)))


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("ratios", [None, (0.0,), (0.2, 1.0)])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.filterwarnings("ignore")
def test_attributes_have_scikit_learns_shapes_and_choices(data, ratios, refit, legacy):
    X, y = (part[::3] for part in DATA[data])
    solver = "saga" if ratios == (0.2, 1.0) else "lbfgs"
    ratios = None if ratios is None else np.array(ratios)
    options = {"refit": refit, "use_legacy_attributes": legacy, "l1_ratios": ratios, "Cs": [1e-4, 1.0], "cv": 2}
    options |= {"scoring": "accuracy", "solver": solver, "max_iter": 30, "random_state": 0}
    ours, theirs = (one(**options).fit(X, y) for one in (LogisticRegressionCV, Reference))
    for name in ("C_", "l1_ratio_", "Cs_", "l1_ratios_", "scores_", "coefs_paths_", "n_iter_", "coef_", "intercept_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        assert type(found) is type(expected), name
        if isinstance(expected, dict):
            assert list(found) == list(expected), name
            found, expected = (np.stack(list(one.values())) for one in (found, expected))
        assert np.shape(found) == np.shape(expected), name
    np.testing.assert_array_equal(ours.C_, theirs.C_)


def test_elastic_net_paths_search_both_penalties():
    X, y = DATA["two classes"]
    options = SETTINGS | {"l1_ratios": (0.0, 0.5, 1.0)}
    model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], solver="auto", **options).fit(X, y)
    assert model.scores_.shape == (3, 3, 3)
    ratio, C = np.unravel_index(model.scores_.mean(axis=0).argmax(), (3, 3))
    assert (model.l1_ratio_, model.C_) == ((0.0, 0.5, 1.0)[ratio], (0.01, 0.1, 1.0)[C])
    zeros = np.mean(model.coefs_paths_[:, :, 0, 0, :-1] == 0, axis=(0, 2))
    assert zeros[0] == 0
    assert zeros[2] > 0


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "liblinear"])
def test_the_last_fit_is_that_of_a_logistic_regression_bit_for_bit(solver):
    X, y = DATA["two classes"]
    search = LogisticRegressionCV(Cs=[0.1, 1.0], solver=solver, **SETTINGS).fit(X, y)
    model = LogisticRegression(C=search.C_, solver=solver).fit(X, y)
    assert np.array_equal(search.coef_, model.coef_)
    assert np.array_equal(search.intercept_, model.intercept_)


def test_weights_of_zero_are_no_rows_on_every_fold():
    X, y = DATA["two classes"]
    folds = [(np.arange(0, 150), np.arange(150, 200)), (np.arange(50, 200), np.arange(50))]
    kept = np.r_[np.arange(0, 100, 2), np.arange(100, 200)]
    weight = np.isin(np.arange(200), kept).astype(float)
    place = np.cumsum(weight).astype(int) - 1
    less = [tuple(place[part[weight[part] > 0]] for part in fold) for fold in folds]
    options = SETTINGS | {"tol": 1e-9, "Cs": [0.1, 10.0]}
    weighted = LogisticRegressionCV(**options | {"cv": folds}).fit(X, y, sample_weight=weight)
    absent = LogisticRegressionCV(**options | {"cv": less}).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.coefs_paths_, absent.coefs_paths_, atol=1e-6)
    np.testing.assert_allclose(weighted.scores_, absent.scores_, atol=1e-6)


def test_sparse_rows_give_the_dense_paths():
    X, y = DATA["two classes"]
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = (
        LogisticRegressionCV(Cs=3, tol=1e-8, **SETTINGS).fit(rows, y) for rows in (X, scipy.sparse.csr_array(X))
    )
    np.testing.assert_allclose(sparse.coefs_paths_, dense.coefs_paths_, atol=1e-6)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_the_accuracies_of_all_penalties_are_those_that_a_scorer_gives(data, weighted):
    X, y = DATA[data]
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    fits = [
        LogisticRegressionCV(Cs=3, **SETTINGS | {"scoring": scoring}) for scoring in (None, make_scorer(accuracy_score))
    ]
    own, scored = (model.fit(X, y, weight).scores_ for model in fits)
    assert np.ptp(own) > 0.0
    np.testing.assert_allclose(own, scored, rtol=1e-15)


def test_a_fold_without_a_class_is_scored_all_the_same():
    X, y = np.arange(6.0)[:, None], np.array(["a", "a", "b", "b", "c", "c"])
    folds = [(np.arange(2, 6), np.arange(2)), (np.arange(4), np.arange(4, 6))]
    model = LogisticRegressionCV(Cs=[1e-3], **SETTINGS | {"cv": folds}).fit(X, y)
    assert np.isfinite(model.scores_).all()
    assert model.coefs_paths_.shape == (2, 1, 1, 3, 2)


def test_averages_say_that_they_have_no_certificate():
    X, y = DATA["two classes"]
    model = LogisticRegressionCV(Cs=3, refit=False, **SETTINGS).fit(X, y)
    best = model.scores_[:, 0].argmax(axis=1)
    np.testing.assert_allclose(model.coef_, model.coefs_paths_[range(3), 0, best, :, :-1].mean(axis=0))
    assert model.certificate_.kind == "none"
    assert "refit=True" in model.certificate_.statement


def test_fits_that_fall_short_are_counted():
    X, y = DATA["two classes"]
    with pytest.warns(ConvergenceWarning, match="of 9 fits on folds ended before they met tol=1e-12"):
        LogisticRegressionCV(Cs=3, max_iter=1, tol=1e-12, **SETTINGS).fit(X, y)


def test_defaults_that_scikit_learn_will_change_warn_of_it():
    X, y = DATA["two classes"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegressionCV(Cs=2).fit(X, y)
    words = " ".join(str(one.message) for one in caught)
    for name in ("l1_ratios", "scoring", "use_legacy_attributes"):
        assert name in words


def test_what_cannot_be_searched_is_refused():
    X, y = DATA["two classes"]
    with pytest.raises(ParameterError, match="Only 'saga' solver supports elasticnet penalty, got solver=lbfgs"):
        LogisticRegressionCV(**SETTINGS | {"l1_ratios": (0.0, 0.5)}).fit(X, y)
    with pytest.raises(ParameterError, match="l1_ratios must be an array-like of numbers between 0 and 1"):
        LogisticRegressionCV(**SETTINGS | {"l1_ratios": (2.0,)}).fit(X, y)
    with pytest.raises(ParameterError, match="every C in Cs must be a number"):
        LogisticRegressionCV(Cs=[1.0, -1.0], **SETTINGS).fit(X, y)
