"""The loss of rows as a function to minimise: its derivatives, and the same bits wherever the rows are."""

import numpy as np
import pytest
import scipy.sparse

from mercer.linear_model import GeneralizedLinearEstimator
from mercer.objectives import L1, L2, Logistic, Poisson, Softmax, Squared
from mercer.optim import RowObjective, check_gradient, minimize, numerical_hessian


def labelled(n=400, d=4, classes=2):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    return X, np.argmax(X @ random.normal(size=(d, classes)) + random.gumbel(size=(n, classes)), axis=1)


def test_the_value_is_the_penalised_mean_loss():
    X, y = labelled()
    x = np.array([1.0, -1.0, 0.5, 0.0, 0.3])
    t = (2 * y - 1) * (X @ x[:-1] + x[-1])
    weight = np.arange(len(y)) % 3
    expected = np.average(np.log1p(np.exp(-t)), weights=weight) + 0.1 * np.sum(x[:-1] ** 2) / 2
    assert RowObjective(Logistic(), X, y, weight, penalty=0.1 * L2())(x) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("loss", "classes"), [(Logistic(), 2), (Softmax(3), 3), (Poisson(), 2), (Squared(), 2)])
def test_derivatives_are_those_of_the_value(loss, classes, intercept):
    X, y = labelled(classes=classes)
    objective = RowObjective(loss, X, y, penalty=0.1 * L2(), fit_intercept=intercept)
    random = np.random.default_rng(1)
    x, vector = (random.normal(size=objective.start.shape) for _ in range(2))
    assert check_gradient(objective, objective.gradient, x).passed
    hessian = objective.hessian(x)
    # Differences of the value err by the root of its rounding.
    rounding = np.sqrt(np.finfo(float).eps) * abs(objective(x))
    assert hessian == pytest.approx(numerical_hessian(objective, x), rel=1e-6, abs=1e-5 + rounding)
    assert objective.hessian_product(x, vector) == pytest.approx(hessian @ vector, rel=1e-10)


@pytest.mark.parametrize(
    "method", ["lbfgs", "newton", "conjugate_gradient", "gradient_descent", "momentum", "nesterov"]
)
def test_every_method_finds_the_optimum_of_the_estimator(method):
    X, y = labelled()
    objective = RowObjective(Logistic(), X, y, penalty=0.1 * L2())
    given = {"learning_rate": 0.5} if method in ("gradient_descent", "momentum", "nesterov") else {}
    given |= {"hess": objective.hessian} if method == "newton" else {}
    result = minimize(objective, objective.start, grad=objective.gradient, method=method, **given)
    model = GeneralizedLinearEstimator("logistic", alpha=0.1, tol=1e-12).fit(X, y)
    assert result.x == pytest.approx(np.append(model.coef_, model.intercept_), abs=1e-4)


def test_a_file_and_an_array_give_the_same_bits(tmp_path):
    X, y = labelled(20_000, 30)
    np.save(tmp_path / "X.npy", X)
    runs = []
    for rows, threads in ((X, 1), (tmp_path / "X.npy", 2)):
        objective = RowObjective(Logistic(), rows, y, penalty=0.01 * L2(), n_jobs=threads)
        runs.append(minimize(objective, objective.start, grad=objective.gradient, method="adam", learning_rate=0.1))
    assert runs[0].x.tobytes() == runs[1].x.tobytes()
    assert runs[0].history["objective"].tobytes() == runs[1].history["objective"].tobytes()


def test_rows_of_another_library_and_sparse_rows_give_the_same_derivatives():
    strict = pytest.importorskip("array_api_strict", reason="the strict namespace is a test extra")
    X, y = labelled()
    x = np.linspace(-1, 1, 5)
    plain = RowObjective(Logistic(), X, y)
    places = [
        RowObjective(Logistic(), strict.asarray(X), strict.asarray(y)),
        RowObjective(Logistic(), scipy.sparse.csr_array(X), y),
    ]
    for other in places:
        assert other(x) == pytest.approx(plain(x), rel=1e-12)
        assert other.gradient(x) == pytest.approx(plain.gradient(x), abs=1e-12)


def test_one_place_costs_one_pass(monkeypatch):
    X, y = labelled()
    objective = RowObjective(Logistic(), X, y)
    passes = []
    reduce = objective._source.reduce
    monkeypatch.setattr(objective._source, "reduce", lambda what: (passes.append(what), reduce(what))[1])
    objective(objective.start)
    objective.gradient(objective.start)
    assert len(passes) == 1


def test_a_learning_rate_that_diverges_is_named_with_a_better_one():
    X, y = labelled()
    objective = RowObjective(Squared(), 100.0 * X, y)
    with pytest.warns(UserWarning, match="diverged at step .* try learning_rate="):
        minimize(objective, objective.start, grad=objective.gradient, method="gradient_descent", learning_rate=1.0)


def test_what_cannot_be_is_refused_with_a_cure():
    X, y = labelled()
    with pytest.raises(ValueError, match="labels of Logistic must be numbers from 0 to 1; got"):
        RowObjective(Logistic(), X, y + 1)
    with pytest.raises(ValueError, match="penalty must be smooth; got L1"):
        RowObjective(Logistic(), X, y, penalty=L1())
    with pytest.raises(ValueError, match=r"x must have shape \(5,\); got \(4,\)"):
        RowObjective(Logistic(), X, y)(np.zeros(4))
