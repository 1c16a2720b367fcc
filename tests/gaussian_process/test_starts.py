"""Where a search begins: at the best scale of the covariance, and at the maximum of fewer rows."""

import warnings

import numpy as np
import pytest

from mercer.gaussian_process import GaussianProcessRegressor
from mercer.gaussian_process._covariance import find_scale
from mercer.gaussian_process._evidence import Evidence, ExactEvidence, Measurement
from mercer.gaussian_process._maximisation import maximise_evidence
from mercer.gaussian_process._trust_region import choose_scale, find_curvature, rescale
from mercer.kernels import RBF, Constant, Matern, White

BOX = np.array([[-9.0, 9.0], [-9.0, 9.0]])


def make_rows(n=400, columns=4):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, columns))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.3 * random.normal(size=n)


def fit(X, y, kernel=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianProcessRegressor(kernel, n_jobs=1, **options).fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "place"),
    [
        (Constant(1.0) * RBF(1.0), 0),
        (Matern(np.ones(3)) * Constant(2.0), 3),
        (Constant(1.0, "fixed") * RBF(1.0) * Constant(1.0), 1),
        (Constant(1.0, "fixed") * RBF(1.0), None),
        (Constant(1.0) * RBF(1.0) + White(1.0), None),
        ((Constant(1.0) + RBF(1.0)) * RBF(2.0), None),
        (RBF(1.0), None),
    ],
)
def test_the_scale_is_a_constant_that_multiplies_all_values(kernel, place):
    assert find_scale(kernel) == place


def test_the_best_scale_of_a_covariance_makes_the_fit_as_large_as_the_rows_are_many():
    # 50 targets with y^T C^-1 y = 400 are best with a covariance eight times as large.
    assert choose_scale(200.0, 175.0, 50, -9.0, 9.0) == pytest.approx(np.log(8.0))
    assert choose_scale(200.0, 175.0, 50, -9.0, 1.0) == 1.0
    # Where noise does not scale, or hardly anything would be gained, nothing is changed.
    assert choose_scale(200.0, 174.0, 50, -9.0, 9.0) == 0.0
    assert choose_scale(25.1, 0.1, 50, -9.0, 9.0) == 0.0


@pytest.mark.parametrize("factor", [0.1, 3.0])
def test_what_is_known_after_a_change_of_scale_is_what_an_evaluation_finds(factor):
    X, y = make_rows(300)
    kernel = Constant(1.0) * RBF(0.3)
    evidence = GaussianProcessRegressor()._make_evidence(X, factor * y[:, None], np.zeros(300), None, kernel)[0]
    theta, known = rescale(kernel.theta, evidence.measure(kernel), 0, evidence.n_scaled, kernel.bounds)
    found = evidence.measure(kernel.with_theta(theta))
    assert abs(theta[0]) > 0.5
    assert np.isclose(known.value, found.value, rtol=1e-9)
    for one, other in zip(known[1:3] + known[4:], found[1:3] + found[4:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_curvatures_are_used_only_where_they_make_a_maximum_and_rows_determine_all():
    A, zeros = np.diag([100.0, 400.0]), np.zeros((2, 2))
    measured = Measurement(0.0, np.zeros(2), A, 1e-9, 0.5 * A, zeros)
    np.testing.assert_array_equal(find_curvature(measured), 0.5 * A)
    assert find_curvature(measured._replace(fit=0.05 * A)) is None
    assert find_curvature(measured._replace(fit=9.0 * A)) is None
    assert find_curvature(measured._replace(rounding=0.1)) is None
    assert find_curvature(measured._replace(fit=None)) is None
    flat = np.diag([100.0, 1e-3])
    assert find_curvature(measured._replace(information=flat, fit=flat)) is None


@pytest.mark.parametrize("kernel", [None, Constant(1.0) * Matern(1.0, nu=1.5)], ids=["default", "Matern"])
@pytest.mark.fixed_seed("where the first kernel is near the maximum, both need as many evaluations")
def test_a_start_on_fewer_rows_leads_to_the_same_maximum_with_fewer_evaluations(kernel, monkeypatch):
    X, y = make_rows()
    quick = fit(X, y, kernel)
    monkeypatch.setattr("mercer.gaussian_process._regressor.make_exact_evidence", ExactEvidence)
    plain = fit(X, y, kernel)
    assert np.isclose(quick.log_marginal_likelihood_value_, plain.log_marginal_likelihood_value_, rtol=1e-9)
    np.testing.assert_allclose(quick.kernel_.theta, plain.kernel_.theta, atol=1e-4)
    assert quick.n_iter_ <= 7
    assert quick.n_iter_ < plain.n_iter_
    assert quick.certificate_.satisfied
    assert np.all(np.diff(quick.history_["objective"]) >= 0)


def test_threads_change_no_bit_of_a_fit_that_starts_on_fewer_rows():
    X, y = make_rows(300)
    one, two = (GaussianProcessRegressor(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.L_.tobytes() == two.L_.tobytes()
    assert one.alpha_.tobytes() == two.alpha_.tobytes()


class Hill(Evidence):
    """A hill about `top`, without a finite value beyond `edge`, and with the hills of fewer rows, `parts`."""

    def __init__(self, top, curvature=100.0, parts=(), edge=np.inf):
        self.top, self.curvature, self.parts, self.edge = np.array(top), curvature, parts, edge
        self.asked = []

    def list_parts(self, kernel):
        return list(self.parts)

    def measure(self, kernel, threads=1):
        theta = kernel.theta
        self.asked.append(theta)
        if theta.max() > self.edge:
            return Measurement(-np.inf, np.zeros(2))
        away, B = theta - self.top, self.curvature * np.eye(2)
        return Measurement(-0.5 * float(away @ B @ away), -B @ away, B, 1e-9)

    def evaluate(self, kernel, slope=True, threads=1):
        away = kernel.theta - self.top
        return (-np.inf if kernel.theta.max() > self.edge else -0.5 * self.curvature * float(away @ away)), None


def run(hill, max_iter=50):
    kernel = Constant(1.0, (1e-4, 1e4)) * RBF(1.0, (1e-4, 1e4))
    solver, answer, steps = maximise_evidence([hill], kernel, kernel.theta[None], 1e-4, max_iter, None), None, []
    while True:
        try:
            asked = solver.send(answer)
        except StopIteration as end:
            return end.value, steps
        if hasattr(asked, "kernels"):
            answer = [asked._evaluate(number) for number in range(len(asked.kernels))]
        else:
            answer = steps.append(asked)


def test_the_last_change_goes_on_by_half_of_itself():
    hill = Hill([2.0, 3.0], parts=[Hill([0.2, 0.3]), Hill([0.6, 0.9])])
    solution, steps = run(hill)
    np.testing.assert_allclose(hill.asked[0], [0.8, 1.2], atol=0.1)
    np.testing.assert_allclose(solution.state.theta[0], [2.0, 3.0], atol=1e-5)
    assert len(steps) == len(hill.asked)


def test_fewer_rows_that_leave_a_logarithm_undetermined_are_not_followed():
    hill = Hill([0.5, 0.5], parts=[Hill([4.0, 4.0], curvature=0.01)])
    run(hill)
    np.testing.assert_array_equal(hill.asked[0], [0.0, 0.0])


@pytest.mark.parametrize("edge", [0.5, np.inf])
def test_a_start_without_a_finite_or_with_a_lower_evidence_is_given_up_for_that_of_the_user(edge):
    hill = Hill([0.2, 0.2], parts=[Hill([1.0, 1.0])], edge=edge)
    solution, steps = run(hill)
    np.testing.assert_array_equal(hill.asked[1], [0.0, 0.0])
    np.testing.assert_allclose(solution.state.theta[0], [0.2, 0.2], atol=1e-5)
    assert len(steps) == len(hill.asked) - 1
