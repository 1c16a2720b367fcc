"""Classifiers by stochastic gradients: scikit-learn's steps, the certified optimum, averages, batches, stopping."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier as TheirClassifier
from sklearn.preprocessing import scale

import mercer
from mercer.errors import DataError, ParameterError
from mercer.linear_model import GeneralizedLinearEstimator, SGDClassifier

TAME = {"learning_rate": "invscaling", "eta0": 0.05, "shuffle": False, "max_iter": 6, "tol": None}
LOSSES = (
    "hinge",
    "log_loss",
    "modified_huber",
    "squared_hinge",
    "perceptron",
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)


def classes(k=3, n=300):
    return make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=k, random_state=0)


def objective(model, X, y, alpha, l1=0.0):
    t = np.where(y == model.classes_[1], 1, -1)
    w = model.coef_[0]
    hinge = np.maximum(0, 1 - t * (X @ w + model.intercept_[0])).mean()
    return hinge + alpha * (l1 * np.abs(w).sum() + (1 - l1) * w @ w / 2)


@pytest.mark.catalogue("OP-04", "OP-05")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("options", [{}, {"penalty": "l1", "alpha": 0.01}, {"average": True}, {"average": 700}])
def test_steps_equal_scikit_learns_in_the_order_of_the_rows(loss, k, options):
    X, y = classes(k)
    model = SGDClassifier(loss, **TAME, **options).fit(X, y)
    theirs = TheirClassifier(loss, **TAME, **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-9)
    assert (model.t_, model.n_iter_) == (theirs.t_, theirs.n_iter_)


@pytest.mark.parametrize("rate", ["constant", "adaptive", "optimal", "pa1", "pa2"])
def test_learning_rates_equal_scikit_learns(rate):
    X, y = classes(2)
    given = {"learning_rate": rate, "eta0": 0.1, "shuffle": False, "max_iter": 6, "tol": None}
    model, theirs = SGDClassifier(**given).fit(X, y), TheirClassifier(**given).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-7)


@pytest.mark.catalogue("OP-04")
@pytest.mark.parametrize(("penalty", "l1"), [("l2", 0.0), ("l1", 1.0), ("elasticnet", 0.5)])
def test_the_averaged_end_is_near_the_certified_optimum(penalty, l1):
    X, y = load_breast_cancer(return_X_y=True)
    X, alpha = scale(X), 0.01
    given = {"penalty": penalty, "l1_ratio": 0.5, "alpha": alpha, "random_state": 0}
    # Averages from a third of the steps on: the first rates are large.
    model = SGDClassifier(**given, average=40_000, max_iter=200, tol=None).fit(X, y)
    exact = GeneralizedLinearEstimator("hinge", penalty, alpha=alpha, tol=1e-6).fit(X, y)
    assert exact.certificate_.satisfied
    assert objective(model, X, y, alpha, l1) <= exact.history_["objective"][-1] * 1.02


@pytest.mark.parametrize("l1_ratio", [0.3, 0.9])
def test_sparse_and_dense_rows_agree_with_an_elastic_net(l1_ratio):
    X, y = classes(2)
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    given = TAME | {"penalty": "elasticnet", "l1_ratio": l1_ratio, "alpha": 0.01}
    dense = SGDClassifier("log_loss", **given).fit(X, y)
    sparse = SGDClassifier("log_loss", **given).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-12)
    np.testing.assert_allclose(sparse.history_["objective"], dense.history_["objective"], rtol=1e-12)


@pytest.mark.catalogue("OP-04")
def test_a_batch_of_all_rows_is_gradient_descent():
    X, y = classes(2)
    t = 2.0 * y - 1.0
    w, b = np.zeros(6), 0.0
    for _ in range(5):
        slope = -t / (1 + np.exp(t * (X @ w + b)))
        w, b = w * (1 - 0.5 * 0.01) - 0.5 * X.T @ slope / len(y), b - 0.5 * slope.mean()
    given = {"learning_rate": "constant", "eta0": 0.5, "alpha": 0.01, "max_iter": 5, "tol": None}
    model = SGDClassifier("log_loss", **given, batch_size=len(y), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9)


@pytest.mark.catalogue("OP-19")
def test_early_stopping_learns_from_the_other_rows_and_ends_when_their_score_stays():
    X, y = load_iris(return_X_y=True)
    model = SGDClassifier(early_stopping=True, validation_fraction=0.2, random_state=0).fit(scale(X), y)
    score = model.history_["validation_score"]
    assert model.converged_
    assert model.t_ == 1 + 120 * model.n_iter_
    assert score.max() > 0.8
    assert model.n_iter_ < 100


def test_probabilities_are_those_of_the_losses():
    X, y = classes(2)
    model = SGDClassifier("log_loss", **TAME).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    X, y = classes(3)
    theirs = TheirClassifier("modified_huber", **TAME).fit(X, y)
    model = SGDClassifier("modified_huber", **TAME).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    assert not hasattr(SGDClassifier(), "predict_proba")


def test_class_weights_are_weights_of_rows():
    X, y = classes(3)
    model = SGDClassifier(class_weight={0: 2.0, 1: 1.0, 2: 0.5}, random_state=0).fit(X, y)
    weighted = SGDClassifier(random_state=0).fit(X, y, sample_weight=np.array([2.0, 1.0, 0.5])[y])
    assert model.coef_.tolist() == weighted.coef_.tolist()


@pytest.mark.parametrize("kind", ["array", "sparse", "blocks", "generator"])
def test_partial_fit_takes_an_epoch_over_any_rows_and_survives_a_file(kind, tmp_path):
    X, y = classes(3)
    put = {
        "array": lambda: (X, y),
        "sparse": lambda: (scipy.sparse.csr_array(X), y),
        "blocks": lambda: ([(X[:100], y[:100]), (X[100:], y[100:])], None),
        "generator": lambda: (((X[i : i + 60], y[i : i + 60]) for i in range(0, 300, 60)), None),
    }[kind]
    given = {"loss": "log_loss", "learning_rate": "constant", "shuffle": False, "average": 20}
    whole = SGDClassifier(**given, max_iter=3, tol=None).fit(X, y)
    model = SGDClassifier(**given)
    for _ in range(3):
        model.partial_fit(*put(), classes=[0, 1, 2])
        mercer.save(model, tmp_path / "model.mercer")
        model = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert model.t_ == whole.t_


def test_blocks_of_rows_in_turn_are_the_array_in_turn_with_weights():
    X, y = classes(3, 5000)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    given = {"shuffle": False, "max_iter": 4, "tol": None}
    blocks = [(X[i : i + 700], y[i : i + 700], weight[i : i + 700]) for i in range(0, 5000, 700)]
    elsewhere, here = SGDClassifier(**given).fit(blocks), SGDClassifier(**given).fit(X, y, sample_weight=weight)
    assert elsewhere.coef_.tolist() == here.coef_.tolist()
    assert elsewhere.history_["objective"].tolist() == here.history_["objective"].tolist()
    with pytest.raises(DataError, match="early_stopping=True needs all rows in memory"):
        SGDClassifier(early_stopping=True).fit(blocks)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 0.0}, "alpha must be > 0 since learning_rate is 'optimal', whose rates are 1 / (alpha t); got 0."),
        (
            {"loss": "log_loss", "learning_rate": "pa1"},
            "learning_rate='pa1' only works with loss='hinge'; got 'log_loss'.",
        ),
        ({"learning_rate": "pa2", "batch_size": 2}, "learning_rate='pa2' takes rows one by one; got batch_size=2."),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set when penalty is 'elasticnet'; got None."),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(settings, words):
    X, y = classes(2)
    with pytest.raises(ParameterError) as caught:
        SGDClassifier(**settings).fit(X, y)
    assert str(caught.value) == f"SGDClassifier: {words}"


def test_partial_fit_says_what_it_cannot_take():
    X, y = classes(3)
    with pytest.raises(DataError, match="classes must be passed on the first call"):
        SGDClassifier().partial_fit(X, y)
    model = SGDClassifier().partial_fit(X[y < 2], y[y < 2], classes=[0, 1])
    with pytest.raises(DataError, match="labels that are not among the classes of the first call; got array"):
        model.partial_fit(X, y)
    with pytest.raises(DataError, match="is not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])


def test_overflow_is_an_error_and_a_fit_cut_short_a_warning():
    X, y = classes(2)
    with pytest.raises(DataError, match=r"Floating-point under-/overflow occurred at epoch #1\. Scaling"):
        SGDClassifier("squared_hinge", random_state=0).fit(X * 1e300, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        SGDClassifier(max_iter=2, tol=None).fit(X, y)
        with pytest.raises(ConvergenceWarning, match="stopped by max_iter after 2 steps"):
            SGDClassifier(max_iter=2).fit(X, y)
