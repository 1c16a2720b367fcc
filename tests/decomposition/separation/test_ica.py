"""Independent components: gradients, recovery, optimality, equivariance, order and signs, artefacts, errors."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.datasets import make_mixed_sources
from mercer.decomposition import ICA, amari_distance, infomax_gradient, natural_gradient
from mercer.errors import DataError, ParameterError

HEAVY = make_mixed_sources(4000, sources=["laplace", "laplace", "exponential"], random_state=1)
BOTH = make_mixed_sources(4000, sources=["uniform", "laplace", "binary", "exponential"], random_state=2)


def log_likelihood(W, X, bias=0.0):
    """The mean of log|det W| + sum_i log y_i (1 - y_i) for y = sigma(W x + b)."""
    u = X @ W.T + bias
    return np.linalg.slogdet(W)[1] + (-np.logaddexp(0, u) - np.logaddexp(0, -u)).sum(axis=1).mean()


@pytest.mark.catalogue("PM-11")
def test_the_infomax_gradient_is_that_of_finite_differences():
    random = np.random.default_rng(0)
    # The differences of a determinant are as inexact as the matrix is near to singular; this one has the condition 4.
    W, X = np.linalg.qr(random.normal(size=(3, 3)))[0] * [0.5, 1.0, 2.0], random.laplace(size=(200, 3))
    scores = np.tanh(X @ W.T / 2)  # 2 y - 1
    gradient = infomax_gradient(W, scores, X)
    step = 1e-6
    for i, j in np.ndindex(3, 3):
        change = np.zeros((3, 3))
        change[i, j] = step
        slope = (log_likelihood(W + change, X) - log_likelihood(W - change, X)) / (2 * step)
        assert gradient[i, j] == pytest.approx(slope, abs=1e-8)
    # The transposed inverse is the matrix of cofactors over the determinant.
    cofactors = np.array(
        [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(W, i, 0), j, 1)) for j in range(3)] for i in range(3)]
    )
    np.testing.assert_allclose(infomax_gradient(W, 0 * scores, X), cofactors / np.linalg.det(W), rtol=1e-12)


@pytest.mark.catalogue("PM-12")
def test_the_natural_gradient_is_the_infomax_gradient_times_w_transposed_w():
    random = np.random.default_rng(0)
    W, X = np.eye(3) + 0.1 * random.normal(size=(3, 3)), random.laplace(size=(200, 3))
    scores = np.tanh(X @ W.T / 2)
    product = infomax_gradient(W, scores, X) @ W.T @ W
    np.testing.assert_allclose(natural_gradient(W, scores, X), product, rtol=0, atol=2e-15)


@pytest.mark.catalogue("PM-12")
def test_independent_sources_of_the_right_scale_are_a_fixed_point():
    # For the logistic density itself <g(y) y> is one; independence makes the other entries vanish in expectation.
    S = np.random.default_rng(0).logistic(size=(400_000, 2))
    assert np.abs(natural_gradient(np.eye(2), np.tanh(S / 2), S)).max() < 0.01


@pytest.mark.catalogue("PM-11")
@pytest.mark.parametrize("rows_per_step", [None, 50])
def test_infomax_separates_heavy_tails(rows_per_step):
    tol, steps = (1e-6, 2000) if rows_per_step is None else (2e-3, 60)
    model = ICA(
        solver="infomax",
        score_function="logistic",
        rows_per_step=rows_per_step,
        tol=tol,
        max_iter=steps,
        random_state=0,
    ).fit(HEAVY.data)
    assert model.converged_
    assert amari_distance(model.components_, HEAVY.mixing) < 0.05
    assert (model.tails_ == 1).all()


@pytest.mark.catalogue("PM-11")
def test_the_logistic_sigmoid_alone_fails_for_light_tails_and_the_switch_of_scores_does_not():
    rows = make_mixed_sources(4000, sources=["uniform", "uniform", "binary"], random_state=2)
    plain = ICA(solver="infomax", score_function="logistic", tol=1e-4, max_iter=300, random_state=0)
    with pytest.warns(UserWarning, match="not converged|Gaussian"):
        plain.fit(rows.data)
    assert amari_distance(plain.components_, rows.mixing) > 0.1
    switched = ICA(solver="natural_gradient", score_function="logistic", tol=1e-4, max_iter=1000, random_state=0).fit(
        rows.data
    )
    assert amari_distance(switched.components_, rows.mixing) < 0.05
    assert (switched.tails_ == -1).all()


@pytest.mark.catalogue("PM-12")
@pytest.mark.parametrize("solver", ["natural_gradient", "quasi_newton"])
def test_the_answer_does_not_depend_on_the_mixing_matrix(solver):
    random = np.random.default_rng(0)
    W = np.linalg.qr(random.normal(size=(4, 4)))[0]
    distances = []
    for A in (np.eye(4), random.normal(size=(4, 4)), np.diag([1.0, 1e3, 1e-3, 10.0]) @ random.normal(size=(4, 4))):
        X = BOTH.sources @ A.T
        model = ICA(solver=solver, tol=1e-6, max_iter=600, random_state=0)
        # The start is given in the space of the sources, so that all three learn the same course.
        K = model.fit(X).whitening_
        model.set_params(w_init=W @ np.linalg.pinv(K @ A)).fit(X)
        distances.append(amari_distance(model.components_, A))
    np.testing.assert_allclose(distances, distances[0], rtol=0, atol=1e-5)
    assert distances[0] < 0.05


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"score_function": "logistic"},
        {"constraint": "orthogonal"},
        {"constraint": "orthogonal", "score_function": "exp"},
        {"constraint": "orthogonal", "score_function": "cube"},
    ],
    ids=repr,
)
def test_all_forms_recover_sources_of_all_tails_at_a_gradient_of_1e_8(settings):
    model = ICA(random_state=0, **settings).fit(BOTH.data)
    assert model.certificate_.satisfied
    assert model.certificate_.value <= 1e-8
    assert amari_distance(model.components_, BOTH.mixing) < 0.05
    sources = model.transform(BOTH.data)
    np.testing.assert_allclose(sources.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(sources.var(axis=0), 1.0, rtol=1e-10)
    assert (model.gaussian_pvalue_ < 1e-6).all()
    assert sorted(model.tails_) == [-1, -1, 1, 1]


def test_cube_alone_is_the_likelihood_of_light_tails():
    rows = make_mixed_sources(4000, sources=["uniform", "binary"], random_state=5)
    model = ICA(score_function="cube", random_state=0).fit(rows.data)
    assert model.converged_
    assert amari_distance(model.components_, rows.mixing) < 0.05
    assert (model.tails_ == -1).all()


def test_the_likelihood_is_no_higher_nearby():
    random = np.random.default_rng(0)
    model = ICA(score_function="logistic", extended=False, random_state=0).fit(HEAVY.data)
    X = HEAVY.data - model.mean_
    W = model.components_ * model.scale_[:, None]
    best = log_likelihood(W, X)
    for _ in range(20):
        assert log_likelihood(W + 1e-3 * random.normal(size=W.shape) @ W, X) < best


def test_sources_come_by_nongaussianity_or_variance_with_positive_largest_loading():
    model = ICA(random_state=0).fit(BOTH.data)
    assert (np.diff(model.nongaussianity_) <= 0).all()
    largest = np.abs(model.mixing_).argmax(axis=0)
    assert (model.mixing_[largest, range(4)] > 0).all()
    other = ICA(random_state=5, order="variance").fit(BOTH.data)
    assert (np.diff(other.explained_variance_) <= 0).all()
    # Another seed gives the same sources, up to the order.
    assert amari_distance(other.components_, model.mixing_) < 1e-6
    total = (BOTH.data - BOTH.data.mean(axis=0)).var(axis=0).sum()
    assert other.explained_variance_.sum() == pytest.approx(total, rel=0.05)


def test_rows_are_restored_and_artefacts_removed():
    model = ICA(random_state=0).fit(BOTH.data)
    sources = model.transform(BOTH.data)
    np.testing.assert_allclose(model.inverse_transform(sources), BOTH.data, atol=1e-10)
    cleaned = model.remove_sources(BOTH.data, [0, -1])
    np.testing.assert_allclose(cleaned, model.inverse_transform(sources, exclude=[0, 3]), atol=1e-10)
    assert np.abs(model.transform(cleaned)[:, [0, 3]]).max() < 1e-10
    np.testing.assert_allclose(model.transform(cleaned)[:, 1:3], sources[:, 1:3], atol=1e-10)
    # What lies outside of all components is kept.
    few = ICA(2, random_state=0).fit(BOTH.data)
    np.testing.assert_allclose(few.remove_sources(BOTH.data, []), BOTH.data)
    with pytest.raises(ParameterError, match=re.escape("exclude must hold whole numbers from 0 to 3")):
        model.remove_sources(BOTH.data, [4])


def test_wide_rows_are_unmixed_in_their_white_space():
    A = np.random.default_rng(0).normal(size=(12, 2))
    X = make_mixed_sources(3000, sources=["laplace", "uniform"], mixing=A, noise=0.01).data
    model = ICA(2, random_state=0).fit(X)
    assert amari_distance(model.components_, A) < 0.05
    assert model.transform(X).shape == (3000, 2)


def test_gaussian_sources_are_said_to_be_inseparable():
    rows = make_mixed_sources(3000, sources=["gaussian", "laplace", "gaussian"], random_state=4)
    with pytest.warns(UserWarning, match=r"ICA: 2 of 3 sources \(1, 2\) are no further from Gaussian than noise"):
        model = ICA(random_state=0).fit(rows.data)
    assert model.gaussian_pvalue_[0] < 1e-10
    assert (model.gaussian_pvalue_[1:] > 0.01).all()
    # The one that is not Gaussian is found all the same.
    gains = np.abs(model.components_[0] @ rows.mixing)
    assert gains[1] > 0.98


def test_rows_of_low_rank_give_fewer_sources_and_say_why():
    X = np.column_stack([HEAVY.data, HEAVY.data.sum(axis=1), np.full(len(HEAVY.data), 3.0)])
    with pytest.warns(UserWarning, match="rank 3 in 5 columns; 3 components are found, not 5"):
        model = ICA(random_state=0).fit(X)
    assert model.components_.shape == (3, 5)
    with pytest.raises(DataError, match="the rows must vary"):
        ICA().fit(np.ones((5, 2)))
    with pytest.warns(UserWarning, match="rank 3 in 6 columns"):
        ICA(random_state=0).fit(np.random.default_rng(0).laplace(size=(4, 6)))


def test_a_fit_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="ICA: stopped by max_iter after 1 steps"):
        ICA(max_iter=1, random_state=0).fit(BOTH.data)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"score_function": "exp"}, "score_function='exp' must go with constraint='orthogonal'"),
        ({"constraint": "orthogonal", "solver": "infomax"}, "must go with solver='quasi_newton'"),
        ({"score_function": "cube", "extended": True}, "extended=True with score_function='cube' must go with"),
        ({"rows_per_step": 5}, "rows_per_step must go with solver='natural_gradient'"),
        ({"w_init": np.eye(3)}, r"w_init has invalid shape -- should be \(4, 4\)"),
    ],
    ids=repr,
)
def test_parameters_that_do_not_go_together_are_refused(settings, text):
    with pytest.raises(ParameterError, match=text):
        ICA(**settings).fit(BOTH.data)
