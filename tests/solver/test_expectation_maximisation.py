"""The EM engine, by itself: hand-computed steps, the bound, priors, hard labels, and what it refuses."""

import numpy as np
import pytest
from scipy.special import entr, logsumexp
from scipy.stats import norm

from mercer.cluster import KMeans
from mercer.errors import DataError, ParameterError
from mercer.mixture import expectation_maximisation, expected_log_likelihood, free_energy, responsibilities

HEADS = np.array([5, 9, 8, 4, 7])


def coin_table(p):
    return np.outer(HEADS, np.log(p)) + np.outer(10 - HEADS, np.log(1 - p)) + np.log(0.5)


def coin_m_step(q):
    return HEADS @ q / (10 * q.sum(axis=0))


def run_coins(start=(0.6, 0.5), **options):
    return expectation_maximisation(np.array(start), lambda p: responsibilities(coin_table(p)), coin_m_step, **options)


@pytest.mark.catalogue("DE-08")
def test_two_coins_follow_the_published_steps():
    """Do and Batzoglou (2008): 0.71 and 0.58 after one step, 0.80 and 0.52 at the end."""
    q, _ = responsibilities(coin_table(np.array([0.6, 0.5])))
    np.testing.assert_allclose(q[:, 0], [0.45, 0.80, 0.73, 0.35, 0.65], atol=0.006)
    np.testing.assert_allclose(coin_m_step(q), [0.71, 0.58], atol=0.006)
    result = run_coins()
    np.testing.assert_allclose(result.parameters, [0.80, 0.52], atol=0.005)
    assert result.converged
    assert len(result.history["objective"]) == result.n_iter


@pytest.mark.catalogue("DE-08")
def test_the_bound_is_below_the_likelihood_by_the_divergence_and_touches_it_after_an_e_step():
    generator = np.random.default_rng(0)
    p = np.array([0.7, 0.4])
    table = coin_table(p)
    exact, value = responsibilities(table)
    assert free_energy(exact, table) == pytest.approx(value, rel=1e-14)
    for _ in range(20):
        q = generator.dirichlet([1, 1], size=5)
        divergence = np.sum(q * (np.log(q) - np.log(exact)))
        assert free_energy(q, table) == pytest.approx(value - divergence, rel=1e-12)
        assert expected_log_likelihood(q, table) == pytest.approx(free_energy(q, table) - entr(q).sum(), rel=1e-12)


@pytest.mark.catalogue("DE-08")
def test_the_objective_never_falls_and_the_certificate_is_what_one_more_step_gains():
    result = run_coins(tol=1e-3, bound=lambda q, p: free_energy(q, coin_table(p)))
    assert (np.diff(result.history["objective"]) >= 0).all()
    q, value = responsibilities(coin_table(result.parameters))
    assert value == pytest.approx(result.objective, rel=1e-14)
    better = coin_m_step(q)
    gain = free_energy(q, coin_table(better)) - value
    assert result.certificate.value == pytest.approx(gain, rel=1e-6)
    assert logsumexp(coin_table(better), axis=1).sum() - value >= gain


@pytest.mark.catalogue("DE-08")
def test_a_prior_gives_the_mode_of_the_posterior():
    """Beta(3, 3) priors add two heads and two tails to each coin; the log posterior is monotone and stationary."""

    def log_prior(p):
        return float(2 * np.sum(np.log(p) + np.log(1 - p)))

    def m_step(q):
        return (HEADS @ q + 2) / (10 * q.sum(axis=0) + 4)

    def log_posterior(p):
        return responsibilities(coin_table(p))[1] + log_prior(p)

    result = expectation_maximisation(
        np.array([0.6, 0.5]), lambda p: responsibilities(coin_table(p)), m_step, log_prior=log_prior, tol=1e-14
    )
    assert (np.diff(result.history["objective"]) >= -1e-12).all()
    assert result.objective == pytest.approx(log_posterior(result.parameters), rel=1e-13)
    for step in np.eye(2) * 1e-4:
        slope = (log_posterior(result.parameters + step) - log_posterior(result.parameters - step)) / 2e-4
        assert abs(slope) < 1e-4


@pytest.mark.catalogue("DE-07")
def test_hard_em_with_equal_shares_and_one_fixed_round_covariance_is_k_means():
    X = np.random.default_rng(1).normal(size=(300, 2)) * [3.0, 1.0]
    start = X[:4]

    def e_step(means):
        gaps = ((X[:, None] - means[None]) ** 2).sum(axis=2)
        q, value = responsibilities(-0.5 * gaps, hard=True)
        return q, value

    result = expectation_maximisation(start, e_step, lambda q: q.T @ X / q.sum(axis=0)[:, None], tol=1e-12)
    clusters = KMeans(4, init=start, n_init=1, tol=0).fit(X)
    np.testing.assert_allclose(result.parameters, clusters.cluster_centers_, rtol=1e-10)
    assert result.objective == pytest.approx(-0.5 * clusters.inertia_, rel=1e-12)
    assert (np.diff(result.history["objective"]) >= 0).all()


def test_a_continuous_hidden_variable_works_as_well():
    """Censored normal times: of those above 1 only that is known; EM climbs to the maximum of their likelihood."""
    x = np.random.default_rng(2).normal(0.5, 1.0, 4000)
    seen, n_cut = x[x <= 1], int((x > 1).sum())

    def e_step(mean):
        above = norm.sf(1 - mean)
        hidden = mean + norm.pdf(1 - mean) / above
        return seen.sum() + n_cut * hidden, norm.logpdf(seen - mean).sum() + n_cut * np.log(above)

    result = expectation_maximisation(0.0, e_step, lambda total: total / len(x), tol=1e-10)
    assert result.parameters == pytest.approx(0.5, abs=0.06)
    slopes = [e_step(result.parameters + step)[1] for step in (-1e-4, 1e-4)]
    assert abs(slopes[1] - slopes[0]) / 2e-4 < 1e-2
    assert result.certificate.kind == "none"


def test_hard_labels_take_the_first_of_the_best():
    q, value = responsibilities([[1.0, 1.0, 0.0]], hard=True)
    assert q.tolist() == [[1.0, 0.0, 0.0]]
    assert value == 1.0


def test_a_wrong_m_step_is_found_out():
    words = r"the objective of EM must not fall; it fell by .* at iteration 2. The E step or the M step is not exact"
    with pytest.raises(DataError, match=words):
        expectation_maximisation(
            np.array([0.8, 0.5]), lambda p: responsibilities(coin_table(p)), lambda q: np.array([0.1, 0.2])
        )


def test_an_impossible_row_and_impossible_options_are_sentences():
    with pytest.raises(DataError, match="the objective must be finite; got -inf at iteration 1"):
        expectation_maximisation(0.0, lambda p: (0.0, -np.inf), lambda q: q)
    with pytest.raises(ParameterError, match=r"expectation_maximisation: tol must be a number in \[0, inf\); got -1."):
        run_coins(tol=-1)


def test_time_runs_out_with_what_there_is():
    result = run_coins(max_time=0, tol=0)
    assert not result.converged
    assert result.n_iter == 1
