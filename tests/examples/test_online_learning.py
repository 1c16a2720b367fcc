"""Learning row by row: one pass approaches the batch solution, a constant rate follows what moves, memory stays."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from mercer.cluster import KMeans, MiniBatchKMeans
from mercer.datasets import make_blobs, make_class_gaussians, make_low_rank, make_mixture
from mercer.decomposition import PCA, IncrementalPCA
from mercer.linear_model import LinearRegression, LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from mercer.mixture import GaussianMixture
from mercer.naive_bayes import GaussianNB
from mercer.preprocessing import StandardScaler

N, BATCH = 20_000, 100
ROWS = np.random.default_rng(0).normal(size=(N, 5))
LINE = ROWS @ [1.0, -2.0, 0.5, 0.0, 3.0] + 1.0
TARGETS = LINE + np.random.default_rng(1).normal(size=N)
LABELS = (np.random.default_rng(2).random(N) < 1 / (1 + np.exp(-0.7 * LINE))).astype(int)
DECAYING = {"learning_rate": "invscaling", "power_t": 0.5, "random_state": 0}


def followed(model, judge, X, *y, at=(200, 2000, N), **options):
    """What `judge` says of a model after some numbers of rows, given in batches, each once."""
    said = []
    for start in range(0, len(X), BATCH):
        part = slice(start, start + BATCH)
        model.partial_fit(X[part], *(one[part] for one in y), **options)
        if start + BATCH in at:
            said.append(float(judge(model)))
    return said


def squared_error(model):
    return np.mean((model.predict(ROWS) - TARGETS) ** 2)


@pytest.mark.catalogue("WF-06")
def test_least_squares_by_one_pass_with_a_decaying_rate_approaches_the_batch_solution():
    least = squared_error(LinearRegression().fit(ROWS, TARGETS))
    excess = np.array(followed(SGDRegressor(alpha=0.0, eta0=0.05, **DECAYING), squared_error, ROWS, TARGETS)) - least
    assert excess[0] > 100 * excess[2] > 0
    assert excess[2] < 2e-3 * least
    # A constant rate does not come to rest: the noise of single rows stays in the coefficients, on average over time.
    restless = SGDRegressor(alpha=0.0, eta0=0.05, learning_rate="constant", random_state=0)
    errors = followed(restless, squared_error, ROWS, TARGETS, at=range(2000, N + 1, 1000))
    assert np.mean(errors) - least > 50 * excess[2]


@pytest.mark.catalogue("WF-06")
def test_logistic_regression_by_one_pass_approaches_the_batch_solution():
    alpha, signs = 1e-3, 2 * LABELS - 1

    def objective(model):
        margins = signs * (ROWS @ model.coef_[0] + model.intercept_[0])
        return np.logaddexp(0.0, -margins).mean() + alpha / 2 * np.sum(model.coef_**2)

    least = objective(LogisticRegression(C=1 / (alpha * N), tol=1e-8).fit(ROWS, LABELS))
    model = SGDClassifier(loss="log_loss", alpha=alpha, eta0=0.5, **DECAYING)
    excess = np.array(followed(model, objective, ROWS, LABELS, classes=[0, 1])) - least
    assert excess[0] > 10 * excess[2] > 0
    assert excess[2] < 5e-3 * least


@pytest.mark.catalogue("WF-06")
def test_a_perceptron_errs_less_and_less_on_separable_rows_and_batches_are_the_steps_of_one_epoch():
    labels = (LINE > 1.0).astype(int)
    model, batches = Perceptron(shuffle=False), range(BATCH, N + 1, BATCH)
    errors = np.array(
        followed(model, lambda one: 1 - one.score(ROWS, labels), ROWS, labels, at=batches, classes=[0, 1])
    )
    # The last steps decide on single errors, so means over many batches are compared.
    assert errors[:20].mean() > errors[20:100].mean() > errors[100:].mean()
    assert errors[-1] < 0.05
    whole = Perceptron(shuffle=False).partial_fit(ROWS, labels, classes=[0, 1])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)


@pytest.mark.catalogue("WF-06")
def test_online_k_means_approaches_the_cost_of_k_means():
    X, _ = make_blobs([8000, 6000, 4000, 2000], centers=[[0, 0], [8, 0], [0, 8], [9, 9]], random_state=0)
    least = KMeans(4, random_state=0, n_init=3).fit(X).inertia_
    excess = np.array(followed(MiniBatchKMeans(4, random_state=0), lambda model: -model.score(X), X)) / least - 1
    assert excess[0] > excess[1] > excess[2] - 1e-12
    assert excess[2] < 1e-3


@pytest.mark.catalogue("WF-06")
def test_incremental_components_approach_those_of_all_rows():
    X = make_low_rank(5000, shape=(8, 8), rank=6, noise=0.1).data
    axes = PCA(3).fit(X).components_

    def outside(model):
        """The share of the true axes outside the span of those found."""
        return 1 - np.sum((model.components_ @ axes.T) ** 2) / 3

    lost = followed(IncrementalPCA(3), outside, X, at=(100, 1000, 5000))
    assert lost[0] > lost[1] > lost[2]
    assert lost[2] < 0.01


@pytest.mark.catalogue("WF-06")
def test_online_expectation_maximisation_approaches_the_likelihood_of_all_rows():
    X = make_mixture(N, weights=[0.5, 0.3, 0.2]).data
    most = GaussianMixture(3, random_state=0).fit(X).score(X)
    short = most - np.array(followed(GaussianMixture(3, random_state=0), lambda model: model.score(X), X))
    assert short[0] > short[1] > short[2] > 0
    assert short[2] < 5e-3


@pytest.mark.catalogue("WF-06")
def test_what_sums_alone_decide_is_the_batch_solution_whatever_the_batches():
    drawn = make_class_gaussians(2000, covariances=[np.eye(2), [[3.0, 1.0], [1.0, 2.0]]], classes=["ash", "birch"])
    X, y = drawn.data, drawn.target
    bayes, scaler = GaussianNB(), StandardScaler()
    followed(bayes, lambda model: 0, X, y, classes=drawn.classes)
    followed(scaler, lambda model: 0, X)
    whole = GaussianNB().fit(X, y)
    np.testing.assert_allclose(bayes.theta_, whole.theta_, rtol=1e-12)
    np.testing.assert_allclose(bayes.var_, whole.var_, rtol=1e-12)
    np.testing.assert_allclose(scaler.scale_, StandardScaler().fit(X).scale_, rtol=1e-12)


def moving_line(n):
    """Rows and targets of a plane whose slope turns once around, and the noise about it."""
    random = np.random.default_rng(0)
    X, angle = random.normal(size=(n, 2)), 2 * np.pi * np.arange(n) / n
    noise = 0.3 * random.normal(size=n)
    return X, 2.0 * (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)) + noise, noise


@pytest.mark.catalogue("WF-06")
def test_a_constant_rate_follows_a_moving_target_and_a_decaying_one_falls_behind():
    X, y, noise = moving_line(4000)

    def error_ahead(model):
        """The mean squared error on each batch before it is learnt from."""
        errors = []
        for start in range(0, len(X), 10):
            part = slice(start, start + 10)
            if start:
                errors.append(np.mean((model.predict(X[part]) - y[part]) ** 2))
            model.partial_fit(X[part], y[part])
        return np.mean(errors)

    constant = error_ahead(SGDRegressor(alpha=0.0, eta0=0.05, learning_rate="constant"))
    decaying = error_ahead(SGDRegressor(alpha=0.0, eta0=0.05, **DECAYING))
    assert constant < 2 * np.mean(noise**2)
    assert decaying > 10 * constant


LEARNERS = [
    (SGDRegressor(random_state=0), "numbers"),
    (SGDClassifier(loss="log_loss", random_state=0), "labels"),
    (Perceptron(), "labels"),
    (MiniBatchKMeans(4, random_state=0), None),
    (IncrementalPCA(3), None),
    (GaussianMixture(2, random_state=0), None),
    (GaussianNB(), "labels"),
    (LinearRegression(), "numbers"),
    (StandardScaler(), None),
]


@pytest.mark.catalogue("WF-06")
@pytest.mark.parametrize(("model", "targets"), LEARNERS, ids=lambda one: type(one).__name__)
def test_memory_does_not_depend_on_the_number_of_rows(model, targets):
    """A hundred batches take the memory of ten, and leave a model of the same size."""
    model, options = clone(model), {"classes": [0, 1]} if targets == "labels" else {}
    random = np.random.default_rng(0)

    def learn(n_batches):
        for _ in range(n_batches):
            X = random.normal(size=(BATCH, 20))
            y = {"labels": [(X[:, 0] > 0).astype(int)], "numbers": [X[:, 0]]}.get(targets, [])
            model.partial_fit(X, *y, **options)

    learn(10)
    size = len(pickle.dumps(model))
    tracemalloc.start()
    learn(10)
    before, few = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    learn(100)
    after, many = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    all_rows = 100 * BATCH * 20 * 8
    assert many - few < 0.05 * all_rows
    assert after - before < 0.05 * all_rows
    assert len(pickle.dumps(model)) < size + 100
