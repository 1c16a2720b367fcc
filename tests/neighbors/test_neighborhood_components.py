"""Neighbourhood components analysis: all pairs written out, optimality, weights, blocks, starts and errors."""

import numpy as np
import pytest
import sklearn.neighbors
from scipy.optimize import approx_fprime
from scipy.special import softmax
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DataError, ParameterError
from mercer.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from mercer.neighbors._nearest import class_neighbours
from mercer.neighbors._nearest.class_neighbours import ClassNeighbours


def expected_accuracy(A, X, y):
    """The definition, all pairs written out."""
    Z = X @ A.T
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    P = softmax(-D, axis=1)
    return float((P * (y[:, None] == y[None])).sum() / len(y))


def table(n=60, d=5, classes=3):
    X, y = make_classification(
        n, d, n_informative=d - 1, n_redundant=0, n_classes=classes, n_clusters_per_class=1, random_state=0
    )
    return X, np.array(["c", "a", "b"])[y]


def test_two_rows_of_a_class_and_one_of_another_between_them_collapse():
    # Rows 0 and 1 at distance d pick each other with probability 1 / (1 + exp(3 d^2 / 4)): at most 1/2, at d = 0. Row 2
    # never picks its own class. So f is at most 1/3, and reaches it at A = 0.
    X = np.array([[-1.0, 0.5], [1.0, -0.5], [0.0, 0.0]])
    model = NeighborhoodComponentsAnalysis(tol=1e-9, max_iter=200).fit(X, [0, 0, 1])
    assert -model.history_["objective"][-1] == pytest.approx(1 / 3)
    assert np.allclose(model.transform(X), 0.0, atol=1e-3)


@pytest.mark.parametrize("block", [2**17, 100], ids=["one block", "blocks of several classes"])
def test_value_and_gradient_are_those_of_the_definition(monkeypatch, block):
    monkeypatch.setattr(class_neighbours, "_TABLE", block)
    X, y = table()
    A = np.random.default_rng(0).normal(size=(2, 5)) / 3
    place = ClassNeighbours(X + 1e3, np.unique(y, return_inverse=True)[1], None, 2).measure(A)
    assert place.objective == pytest.approx(-expected_accuracy(A, X, y), rel=1e-9)
    slope = approx_fprime(A.ravel(), lambda a: -expected_accuracy(a.reshape(A.shape), X, y))
    assert np.allclose(place.gradient.ravel(), slope, atol=1e-6)


def test_the_fit_ends_where_the_gradient_vanishes_at_no_less_than_scikit_learn_reaches():
    X, y = load_iris(return_X_y=True)
    ours = NeighborhoodComponentsAnalysis(2, init="identity", tol=1e-6, max_iter=200).fit(X, y)
    theirs = sklearn.neighbors.NeighborhoodComponentsAnalysis(2, init="identity", tol=1e-6, max_iter=200).fit(X, y)
    assert ours.converged_
    assert ours.certificate_.kind == "gradient norm"
    slope = approx_fprime(ours.components_.ravel(), lambda a: expected_accuracy(a.reshape(2, 4), X, y))
    assert np.abs(slope).max() < 1e-5
    assert expected_accuracy(ours.components_, X, y) > expected_accuracy(theirs.components_, X, y) - 1e-6
    assert (np.diff(ours.history_["objective"]) < 0).all()


def test_the_metric_helps_neighbours_among_columns_of_noise():
    random = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    noisy = np.concatenate([X, 5.0 * random.normal(size=(150, 4))], axis=1)
    mapped = NeighborhoodComponentsAnalysis(2, random_state=0).fit(noisy, y).transform(noisy)
    plain, learnt = (KNeighborsClassifier(3).fit(rows, y).score(None, y) for rows in (noisy, mapped))
    assert plain < 0.8
    # Iris alone has a score of 0.96: the metric wins back nearly all that the noise takes.
    assert learnt > plain + 0.75 * (KNeighborsClassifier(3).fit(X, y).score(None, y) - plain)


def test_weights_are_repetitions_and_zero_is_no_row():
    X, y = table()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    options = {"n_components": 2, "init": "identity", "max_iter": 5}
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 5 steps"):
        weighted = NeighborhoodComponentsAnalysis(**options).fit(X, y, sample_weight=weight)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        repeated = NeighborhoodComponentsAnalysis(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weighted.components_, repeated.components_)
    with pytest.raises(DataError, match="positive for 2 rows at least; got 1"):
        NeighborhoodComponentsAnalysis().fit(X, y, sample_weight=np.eye(len(X))[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_goes_on_from_the_components_and_the_callback_sees_each_step():
    X, y = table()
    seen = []
    model = NeighborhoodComponentsAnalysis(2, init="identity", max_iter=4, warm_start=True)
    model.set_params(callback=lambda parameters, step: seen.append((parameters, step))).fit(X, y)
    assert [step for _, step in seen] == [1, 2, 3, 4]
    assert (seen[-1][0] == model.components_.ravel()).all()
    before = model.history_["objective"][-1]
    assert model.fit(X, y).history_["objective"][0] < before
    with pytest.raises(DataError, match=r"previously learned transformation \(5\). Set warm_start=False"):
        model.fit(X[:, :4], y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_starts_have_the_shape_that_was_asked_for():
    X, y = table()
    for init in ("auto", "pca", "lda", "identity", "random"):
        model = NeighborhoodComponentsAnalysis(2, init=init, max_iter=1, random_state=0).fit(X, y)
        assert model.components_.shape == (2, 5)
    assert NeighborhoodComponentsAnalysis(max_iter=1).fit(X, y).components_.shape == (5, 5)
    with pytest.raises(ParameterError, match="must be a matrix of finite numbers"):
        NeighborhoodComponentsAnalysis(init=[1.0, np.nan]).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_lead_back_to_rows():
    X, y = table()
    model = NeighborhoodComponentsAnalysis(max_iter=3).fit(X, y)
    assert np.allclose(model.inverse_transform(model.transform(X)), X)
