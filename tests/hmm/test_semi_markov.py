"""Hidden semi-Markov models: sums over all segmentations, equality with a hidden Markov model, EM, and errors."""

import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from mercer.errors import DataError, ParameterError
from mercer.hmm import CategoricalHMM, GaussianHMM, PoissonHMM, Segment, SemiMarkovHMM
from mercer.hmm._durations.distributions import KINDS, StateDurations

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LEVELS = np.array([[0.0], [1.5], [-1.0]])


def make_steps(n=240, seed=0):
    """Draw rows of two levels, ten standard deviations apart: no row looks like one of the other level."""
    return (np.tile(np.repeat([0.0, 4.0], 6), n // 12) + 0.4 * np.random.default_rng(seed).normal(size=n))[:, None]


def set_model(kind, parameters, longest=None):
    """A model of three Gaussian states with given durations."""
    model = SemiMarkovHMM(3, durations=kind, max_duration=longest, n_iter=0, random_state=0)
    model.fit(np.random.default_rng(1).normal(size=(12, 1)))
    model.startprob_ = np.array([0.5, 0.2, 0.3])
    model.transmat_ = np.array([[0.0, 0.6, 0.4], [0.3, 0.0, 0.7], [0.9, 0.1, 0.0]])
    model.duration_parameters_ = np.asarray(parameters, dtype=float)
    model.emission_.means_, model.emission_.covars_ = LEVELS, np.ones((3, 1))
    return model


def enumerate_segmentations(model, X, durations, survivors):
    """Yield the states of every segmentation with its probability; the last segment may go on."""
    n, size = len(X), durations.shape[1]
    density = stats.norm.pdf(X, LEVELS.T)
    for count in range(1, n + 1):
        for cuts in itertools.combinations(range(1, n), count - 1):
            bounds = [0, *cuts, n]
            lasting = np.diff(bounds)
            if lasting.max() > size:
                continue
            for states in itertools.product(range(3), repeat=count):
                p = model.startprob_[states[0]]
                for before, after in itertools.pairwise(states):
                    p *= model.transmat_[before, after]
                for number, (state, d) in enumerate(zip(states, lasting, strict=True)):
                    p *= (survivors if number == count - 1 else durations)[state, d - 1]
                path = np.repeat(states, lasting)
                if p > 0:
                    yield path, p * np.prod(density[np.arange(n), path])


CASES = [
    ("poisson", [[1.0], [2.0], [0.5]], None),
    ("geometric", [[0.5], [0.7], [0.2]], 4),
    ("negative binomial", [[1.0, 2.0], [2.0, 0.5], [0.5, 4.0]], None),
    ("table", [[0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [0.6, 0.4, 0.0]], 3),
]


@pytest.mark.parametrize(("kind", "parameters", "longest"), CASES, ids=[case[0] for case in CASES])
def test_all_segmentations_are_summed(kind, parameters, longest):
    model = set_model(kind, parameters, longest)
    X = np.random.default_rng(2).normal(size=(6, 1))
    passes = model._prepare_passes(6)
    listed = list(enumerate_segmentations(model, X, np.exp(passes.durations), np.exp(passes.survivors)))
    total = sum(p for _, p in listed)
    assert model.score(X) == pytest.approx(np.log(total), rel=1e-12)
    shares = np.zeros((6, 3))
    for path, p in listed:
        shares[np.arange(6), path] += p / total
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-11)
    best_path, best = max(listed, key=lambda pair: pair[1])
    log_prob, states = model.decode(X)
    assert log_prob == pytest.approx(np.log(best), rel=1e-12)
    np.testing.assert_array_equal(states, best_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("truncated", [False, True])
def test_durations_are_distributions(kind, truncated):
    size = 400 if not truncated else 7
    parameters = {
        "poisson": [[3.0]],
        "geometric": [[0.8]],
        "negative binomial": [[3.0, 2.0]],
        "table": [np.full(size, 1 / size)],
    }
    durations = StateDurations(kind, np.array(parameters[kind]), size, truncated or kind == "table")
    logs, tails = durations.tabulate()
    assert np.exp(logs).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.exp(tails[0]), np.cumsum(np.exp(logs[0])[::-1])[::-1], atol=1e-12)
    assert durations.means()[0] == pytest.approx(np.exp(logs[0]) @ np.arange(1, size + 1), rel=1e-9)
    random = np.random.default_rng(0)
    drawn = [durations.draw(0, random) for _ in range(1000)]
    assert np.mean(drawn) == pytest.approx(durations.means()[0], rel=0.15)


def test_geometric_durations_are_a_hidden_markov_model():
    X = make_steps()
    model = SemiMarkovHMM(2, durations="geometric", random_state=0).fit(X)
    stay = model.duration_parameters_[:, 0]
    plain = GaussianHMM(2)
    plain.startprob_, plain.transmat_ = model.startprob_, np.diag(stay) + (1 - stay)[:, None] * model.transmat_
    plain.means_, plain.covars_ = model.emission_.means_, model.emission_.covars_
    assert model.score(X) == pytest.approx(plain.score(X), rel=1e-11)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.decode(X)[0] == pytest.approx(plain.decode(X)[0], rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_em_never_falls_and_finds_the_durations(kind):
    X = make_steps()
    model = SemiMarkovHMM(2, durations=kind, max_duration=20, random_state=0).fit(X)
    assert np.all(np.diff(model.history_["objective"]) > -1e-8)
    if kind != "geometric":
        np.testing.assert_allclose(model.duration_means_, 6.0, atol=0.2)
        assert model.score(X) > SemiMarkovHMM(2, durations="geometric", random_state=0).fit(X).score(X) + 20
    np.testing.assert_allclose(np.sort(model.emission_.means_.ravel()), [0.0, 4.0], atol=0.3)


def test_the_best_segmentation_has_its_segments():
    model = SemiMarkovHMM(2, max_duration=20, random_state=0).fit(make_steps())
    segments = model.find_segments(make_steps(36, seed=3))
    assert [(part.start, part.stop) for part in segments] == [(start, start + 6) for start in range(0, 36, 6)]
    assert segments[0].state == segments[2].state != segments[1].state
    two = model.find_segments([make_steps(12), make_steps(12)])
    assert two[2] == Segment(12, 18, two[0].state)


@pytest.mark.parametrize(
    ("emission", "make"),
    [
        (PoissonHMM(), lambda random, level: random.poisson(2.0 + 10.0 * level)),
        (CategoricalHMM(), lambda random, level: random.binomial(2, 0.1 + 0.8 * level)),
    ],
    ids=["poisson", "categorical"],
)
def test_other_emissions_of_the_family_are_taken(emission, make):
    random, level = np.random.default_rng(0), np.tile(np.repeat([0, 1], 8), 60)
    X = make(random, level)[:, None]
    model = SemiMarkovHMM(2, emission=emission, max_duration=20, n_init=2, random_state=0).fit(X)
    states = model.predict(X)
    assert max(np.mean(states == level), np.mean(states != level)) > 0.95
    np.testing.assert_allclose(model.duration_means_, 8.0, atol=0.5)


def test_missing_steps_and_lists_of_sequences():
    X = make_steps()
    X[30:33] = np.nan
    model = SemiMarkovHMM(2, max_duration=20, random_state=0).fit(X)
    assert np.isfinite(model.score(X))
    parts = [X[:60], X[60:]]
    assert model.score(parts) == pytest.approx(model.score(X[:60]) + model.score(X[60:]))
    assert model.score(X, lengths=[60, 180]) == model.score(parts)
    several = [SemiMarkovHMM(2, max_duration=20, n_jobs=jobs, random_state=0).fit(parts) for jobs in (1, 2)]
    np.testing.assert_array_equal(several[0].emission_.means_, several[1].emission_.means_)


def test_samples_last_as_the_model_says():
    model = SemiMarkovHMM(2, max_duration=20, random_state=0).fit(make_steps())
    X, states = model.sample(6000, random_state=1)
    cuts = np.flatnonzero(np.diff(states))
    assert np.diff(cuts).mean() == pytest.approx(model.duration_means_.mean(), rel=0.1)
    assert X[states == 0].mean() == pytest.approx(model.emission_.means_[0, 0], abs=0.1)


def test_one_state_lasts_to_the_end():
    X = make_steps(36)
    model = SemiMarkovHMM(1, max_duration=5, tol=1e-6).fit(X)
    assert np.all(model.predict(X) == 0)
    assert model.score(X) == pytest.approx(GaussianHMM(1).fit(X).score(X), abs=1e-3)


def test_rows_of_64_bit_numbers_have_finite_probabilities():
    # Log densities of -1e38 are rounded by 1e22: all probability is on the best segmentation.
    X = make_steps(48)
    model = SemiMarkovHMM(2, max_duration=12, random_state=0).fit(X)
    wrapped = np.where(np.arange(48) % 5 == 0, 2.0**64 - 6.0, X[:, 0])[:, None]
    probabilities = model.predict_proba(wrapped)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), model.predict(wrapped))


def test_wrong_input_is_named():
    X = make_steps(24)
    with pytest.raises(ParameterError, match="durations must be one of 'poisson'"):
        SemiMarkovHMM(2, durations="weibull").fit(X)
    with pytest.raises(DataError, match=r"must be a hidden Markov model of mercer.hmm; got LinearRegression"):
        SemiMarkovHMM(2, emission=LinearRegression()).fit(X)
    with pytest.raises(DataError, match="sum to the number of rows, 24; got 20"):
        SemiMarkovHMM(2).fit(X, lengths=[20])
