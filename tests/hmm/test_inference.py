"""Decoding, scores and probabilities of known models, against enumeration."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multinomial as multinomial_law
from scipy.stats import multivariate_normal
from scipy.stats import poisson as poisson_law

from mercer.errors import DataError
from mercer.hmm import CategoricalHMM, GaussianHMM, PoissonHMM
from tests.hmm.models import (
    COVARIANCES,
    EVERY,
    MEANS,
    build,
    categorical,
    enumerate_paths,
    gaussian,
    log_densities,
    multinomial,
    poisson,
)


@pytest.mark.parametrize("kind", list(COVARIANCES))
def test_gaussian_densities_are_those_of_scipy(kind):
    X = np.random.default_rng(0).normal(size=(20, 2)) * 3
    each = {
        "spherical": lambda k: COVARIANCES[kind][k] * np.eye(2),
        "diag": lambda k: np.diag(COVARIANCES[kind][k]),
        "full": lambda k: COVARIANCES[kind][k],
        "tied": lambda k: COVARIANCES[kind],
    }[kind]
    expected = np.stack([multivariate_normal(MEANS[k], each(k)).logpdf(X) for k in range(3)], axis=1)
    np.testing.assert_allclose(log_densities(gaussian(kind), X), expected, rtol=1e-12)


def test_many_columns_take_the_products_of_blas_to_the_same_densities():
    generator = np.random.default_rng(0)
    root = generator.normal(size=(2, 14, 14))
    covars = root @ np.swapaxes(root, 1, 2) + np.eye(14)
    model = GaussianHMM(2, "full")
    model.startprob_, model.transmat_ = np.full(2, 0.5), np.full((2, 2), 0.5)
    model.means_, model.covars_ = generator.normal(size=(2, 14)), covars
    X = generator.normal(size=(9, 14))
    expected = np.stack([multivariate_normal(model.means_[k], covars[k]).logpdf(X) for k in range(2)], axis=1)
    np.testing.assert_allclose(log_densities(model, X), expected, rtol=1e-10)


def test_counts_have_the_densities_of_scipy():
    X = np.random.default_rng(0).poisson(3.0, size=(10, 2))
    expected = poisson_law(poisson().lambdas_[:, None, :]).logpmf(X[None]).sum(axis=2).T
    np.testing.assert_allclose(log_densities(poisson(), X), expected, rtol=1e-12)
    model = multinomial()
    counts = np.random.default_rng(0).multinomial(6, [0.2, 0.3, 0.5], size=10)
    expected = np.stack([multinomial_law(6, p).logpmf(counts) for p in model.emissionprob_], axis=1)
    np.testing.assert_allclose(log_densities(model, counts), expected, rtol=1e-12)


@pytest.mark.catalogue("GM-14")
@pytest.mark.parametrize(("maker", "kind"), EVERY)
def test_the_likelihood_is_the_sum_over_all_paths(maker, kind):
    model = build(maker, kind)
    X, _ = model.sample(6, random_state=1)
    _, joint = enumerate_paths(model, X)
    assert model.score(X) == pytest.approx(logsumexp(joint), rel=1e-12)


@pytest.mark.catalogue("GM-14")
@pytest.mark.parametrize(("maker", "kind"), EVERY)
def test_viterbi_finds_the_best_of_all_paths(maker, kind):
    model = build(maker, kind)
    for seed in range(5):
        X, _ = model.sample(6, random_state=seed)
        paths, joint = enumerate_paths(model, X)
        log_prob, states = model.decode(X)
        assert log_prob == pytest.approx(joint.max(), rel=1e-12)
        np.testing.assert_array_equal(states, paths[np.argmax(joint)])
        np.testing.assert_array_equal(model.predict(X), states)


@pytest.mark.catalogue("GM-14")
@pytest.mark.parametrize(("maker", "kind"), EVERY)
def test_smoothed_and_filtered_probabilities_are_those_of_the_paths(maker, kind):
    model = build(maker, kind)
    X, _ = model.sample(6, random_state=2)
    paths, joint = enumerate_paths(model, X)
    share = np.exp(joint - logsumexp(joint))
    expected = np.stack([(share[:, None] * (paths == k)).sum(axis=0) for k in range(3)], axis=1)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, expected, atol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_array_equal(model.smooth(X), probabilities)
    densities = model.score_samples(X)
    for stop in range(1, 7):
        assert densities[:stop].sum() == pytest.approx(model.score(X[:stop]), rel=1e-10)
    for stop in range(1, 7):
        np.testing.assert_allclose(model.filter(X)[stop - 1], model.predict_proba(X[:stop])[-1], atol=1e-12)
    best, states = model.decode(X, algorithm="map")
    np.testing.assert_array_equal(states, expected.argmax(axis=1))
    assert best == pytest.approx(expected.max(axis=1).sum(), rel=1e-12)


@pytest.mark.catalogue("GM-14")
def test_ten_thousand_steps_do_not_underflow():
    model = gaussian("diag")
    X, _ = model.sample(10_000, random_state=0)
    # Filtering in logarithms, step by step.
    scores = log_densities(model, X)
    message, total = np.log(model.startprob_) + scores[0], 0.0
    for row in scores[1:]:
        message = logsumexp(message[:, None] + np.log(model.transmat_), axis=0) + row
    total = logsumexp(message)
    assert model.score(X) == pytest.approx(total, rel=1e-12)
    assert total < -10_000
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


def test_ties_go_to_the_lowest_state():
    model = categorical()
    model.startprob_, model.transmat_ = np.full(3, 1 / 3), np.full((3, 3), 1 / 3)
    model.emissionprob_ = np.full((3, 4), 0.25)
    np.testing.assert_array_equal(model.predict(np.zeros((50, 1))), 0)


@pytest.mark.parametrize(("maker", "kind"), EVERY)
def test_a_missing_step_is_summed_over(maker, kind):
    model = build(maker, kind)
    X = np.asarray(model.sample(5, random_state=3)[0], dtype=np.float64)
    X[2] = np.nan
    scores = log_densities(model, X)
    np.testing.assert_allclose(scores[2], 0.0, atol=1e-15)
    # The same by hand: two transitions in place of one.
    message = model.startprob_ * np.exp(scores[0])
    for row in scores[1:]:
        message = (message @ model.transmat_) * np.exp(row)
    assert model.score(X) == pytest.approx(np.log(message.sum()), rel=1e-12)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("kind", list(COVARIANCES))
def test_a_missing_entry_is_integrated_out(kind):
    model = gaussian(kind)
    X = np.array([[0.3, np.nan], [np.nan, 1.0], [np.nan, np.nan], [0.5, 0.5]])
    scores = log_densities(model, X)
    each = {
        "spherical": lambda k: COVARIANCES[kind][k] * np.eye(2),
        "diag": lambda k: np.diag(COVARIANCES[kind][k]),
        "full": lambda k: COVARIANCES[kind][k],
        "tied": lambda k: COVARIANCES[kind],
    }[kind]
    for state in range(3):
        covariance = each(state)
        first = multivariate_normal(MEANS[state, 0], covariance[0, 0]).logpdf(0.3)
        second = multivariate_normal(MEANS[state, 1], covariance[1, 1]).logpdf(1.0)
        np.testing.assert_allclose(scores[:2, state], [first, second], rtol=1e-12)
        assert scores[2, state] == pytest.approx(0.0, abs=1e-15)
        assert scores[3, state] == pytest.approx(multivariate_normal(MEANS[state], covariance).logpdf([0.5, 0.5]))


def test_probabilities_beyond_the_range_of_doubles_are_passed_in_logarithms():
    # The chain must leave state 0 at the first step, although state 1 makes what is seen e^-5000 times as likely.
    model = GaussianHMM(3)
    model.startprob_ = np.array([1.0, 0.0, 0.0])
    model.transmat_ = np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model.means_, model.covars_ = np.array([[0.0], [100.0], [0.0]]), np.ones((3, 1))
    X = np.array([[0.0], [0.0], [100.0], [100.0]])
    paths, joint = enumerate_paths(model, X)
    assert model.score(X) == pytest.approx(logsumexp(joint), rel=1e-12)
    assert model.score(X) < -4000
    share = np.exp(joint - logsumexp(joint))
    expected = np.stack([(share[:, None] * (paths == k)).sum(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), paths[np.argmax(joint)])
    assert model.score_samples(X).sum() == pytest.approx(model.score(X), rel=1e-12)
    # Beside other sequences, in one piece with them.
    both = model.score(np.concatenate([X[:1], X, X[:1]]), lengths=[1, 4, 1])
    assert both == pytest.approx(model.score(X) + 2 * model.score(X[:1]), rel=1e-12)


def test_an_impossible_sequence_has_score_minus_infinity_and_names_its_step():
    model = categorical()
    model.startprob_ = np.array([1.0, 0.0, 0.0])
    model.transmat_ = np.array([[1.0, 0.0, 0.0], [0.3, 0.5, 0.2], [0.1, 0.2, 0.7]])
    X = np.array([[0], [1], [3], [0]])
    assert model.score(X) == -np.inf
    with pytest.raises(DataError, match=r"sequence 0 has probability zero: no state .* at step 2"):
        model.predict_proba(X)


def test_the_stationary_distribution_is_left_unchanged_by_a_step():
    model = gaussian()
    stationary = model.get_stationary_distribution()
    np.testing.assert_allclose(stationary @ model.transmat_, stationary, atol=1e-14)
    model.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(model.get_stationary_distribution(), [0.0, 0.5, 0.5], atol=1e-14)
    model.transmat_ = np.eye(3)
    with pytest.raises(DataError, match="3 closed sets of states"):
        model.get_stationary_distribution()


def test_the_online_filter_gives_the_filtered_probabilities_of_the_batch():
    model = gaussian("full")
    X, _ = model.sample(30, random_state=0)
    X[7] = np.nan
    following = model.start_filter()
    np.testing.assert_allclose(following.predict_next(), model.startprob_)
    steps = np.stack([following.update(x) for x in X])
    np.testing.assert_allclose(steps, model.filter(X), atol=1e-13)
    assert following.log_likelihood == pytest.approx(model.score(X), rel=1e-12)
    assert following.n_steps == 30
    assert following.reset().n_steps == 0


def test_a_drawn_sequence_has_the_frequencies_of_the_model():
    model = categorical()
    X, states = model.sample(20_000, random_state=0)
    moves = np.zeros((3, 3))
    np.add.at(moves, (states[:-1], states[1:]), 1)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), model.transmat_, atol=0.02)
    symbols = np.zeros((3, 4))
    np.add.at(symbols, (states, X[:, 0]), 1)
    np.testing.assert_allclose(symbols / symbols.sum(axis=1, keepdims=True), model.emissionprob_, atol=0.02)
    assert model.sample(3, random_state=0, currstate=2)[1][0] == 2
    np.testing.assert_array_equal(model.sample(5, random_state=7)[0], model.sample(5, random_state=7)[0])


def test_one_hundred_states_are_passed_as_well():
    generator = np.random.default_rng(0)
    model = CategoricalHMM(100)
    model.startprob_, model.transmat_ = generator.dirichlet(np.ones(100)), generator.dirichlet(np.ones(100), 100)
    model.emissionprob_ = generator.dirichlet(np.ones(5), 100)
    X = generator.integers(0, 5, size=(300, 1))
    message = model.startprob_ * model.emissionprob_[:, X[0, 0]]
    total = 0.0
    for symbol in X[1:, 0]:
        total, message = total + np.log(message.sum()), message / message.sum()
        message = (message @ model.transmat_) * model.emissionprob_[:, symbol]
    assert model.score(X) == pytest.approx(total + np.log(message.sum()), rel=1e-12)


def test_probabilities_are_finite_where_log_densities_are_beyond_their_rounding():
    # 64-bit ids taken for counts: log densities of -1e19 are rounded by 1000, a factor that no double holds.
    ids = np.random.default_rng(39).integers(2**60, 2**63, size=(40, 5))
    model = PoissonHMM(3, random_state=0).fit(ids)
    counts = np.random.default_rng(0).poisson(4.0, size=(40, 5))
    for rows in (ids, counts):
        probabilities = model.predict_proba(rows)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)


def test_all_probability_is_on_the_best_path_where_rounding_decides():
    model = poisson()
    model.lambdas_ = model.lambdas_ * 1e18 + np.arange(len(model.lambdas_))[:, None] * 1e17
    model.transmat_ = np.roll(np.eye(len(model.lambdas_)), 1, axis=1)
    X = np.ones((6, model.lambdas_.shape[1]))
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
