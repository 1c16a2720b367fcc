"""Linear-Gaussian models: equality with one large Gaussian, EM, classical models, places of time, and errors."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.errors import DataError, ParameterError
from mercer.hmm import LinearGaussianModel
from mercer.hmm._linear_gaussian import passes

# Some fits below are ended by max_iter on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TURN = np.array([[0.9, 0.3], [-0.3, 0.9]])
LOOK = np.random.default_rng(3).normal(size=(3, 2))


def spread(n, seed):
    return np.cov(np.random.default_rng(seed).normal(size=(n, 4 * n)))


def make_model(**changes):
    """A model of two states and three columns with all parameters given; its fit only checks them."""
    given = {
        "transition": TURN,
        "observation": LOOK,
        "transition_noise": spread(2, 0),
        "observation_noise": spread(3, 1),
        "start_mean": [1.0, -2.0],
        "start_covariance": spread(2, 2),
    }
    controls = changes.pop("controls", None)
    model = LinearGaussianModel(2, **(given | changes))
    return model.fit(np.zeros((4, 3)), controls=None if controls is None else np.zeros((4, controls)))


def condition(model, Y, U=None):
    """Return means and covariances (n, n, k, k) of all states given all rows, and the log-likelihood: one Gaussian."""
    A, C, Q, R = model.transition_, model.observation_, model.transition_noise_, model.observation_noise_
    n, k = len(Y), len(A)
    drift = np.zeros((n, k)) if U is None else U @ model.control_.T
    shift = np.zeros(Y.shape) if U is None else U @ model.observation_control_.T
    mean, S = np.zeros((n, k)), np.zeros((n, n, k, k))
    mean[0], S[0, 0] = model.start_mean_, model.start_covariance_
    for t in range(1, n):
        mean[t], S[t, t] = A @ mean[t - 1] + drift[t - 1], A @ S[t - 1, t - 1] @ A.T + Q
    for t in range(n):
        for later in range(t + 1, n):
            S[later, t] = A @ S[later - 1, t]
            S[t, later] = S[later, t].T
    states = S.transpose(0, 2, 1, 3).reshape(n * k, n * k)
    look = np.kron(np.eye(n), C)
    rows = look @ states @ look.T + np.kron(np.eye(n), R)
    there = ~np.isnan(Y.ravel())
    error = (Y - shift - mean @ C.T).ravel()[there]
    rows = rows[np.ix_(there, there)]
    gain = states @ look.T[:, there] @ np.linalg.inv(rows)
    after = mean.ravel() + gain @ error
    V = states - gain @ look[there] @ states
    log_density = -0.5 * (
        there.sum() * np.log(2 * np.pi) + np.linalg.slogdet(rows)[1] + error @ np.linalg.solve(rows, error)
    )
    return after.reshape(n, k), V.reshape(n, k, n, k).transpose(0, 2, 1, 3), float(log_density)


def draw_rows(n, gaps=True):
    Y = np.random.default_rng(5).normal(size=(n, 3))
    if gaps:
        Y[3] = np.nan
        Y[[5, 5, 7], [0, 2, 1]] = np.nan
    return Y


@pytest.mark.parametrize("gaps", [False, True])
def test_filter_and_smoother_equal_one_large_gaussian(gaps):
    model, Y = make_model(), draw_rows(9, gaps)
    means, covariances, log_density = condition(model, Y)
    smoothed, filtered = model.smooth(Y), model.filter(Y)
    np.testing.assert_allclose(smoothed.means, means, atol=1e-11)
    np.testing.assert_allclose(smoothed.covariances, covariances[np.arange(9), np.arange(9)], atol=1e-11)
    assert model.score(Y) == pytest.approx(log_density, rel=1e-12)
    assert smoothed.log_likelihood == filtered.log_likelihood == pytest.approx(log_density, rel=1e-12)
    for t in range(9):
        part = condition(model, Y[: t + 1])
        np.testing.assert_allclose(filtered.means[t], part[0][t], atol=1e-11)
        np.testing.assert_allclose(filtered.covariances[t], part[1][t, t], atol=1e-11)
    assert model.score_samples(Y).sum() == pytest.approx(log_density)


def test_controls_shift_states_and_rows():
    random = np.random.default_rng(4)
    model = make_model(control=random.normal(size=(2, 1)), observation_control=random.normal(size=(3, 1)), controls=1)
    Y, U = draw_rows(8), random.normal(size=(8, 1))
    means, _, log_density = condition(model, Y, U)
    np.testing.assert_allclose(model.smooth(Y, controls=U).means, means, atol=1e-11)
    assert model.score(Y, controls=U) == pytest.approx(log_density)


def test_forecasts_are_steps_without_rows():
    model, Y = make_model(), draw_rows(8)
    means, covariances = model.predict(Y, horizon=4, return_cov=True)
    longer = np.concatenate([Y, np.full((4, 3), np.nan)])
    after, V, _ = condition(model, longer)
    C, R = model.observation_, model.observation_noise_
    np.testing.assert_allclose(means, after[8:] @ C.T, atol=1e-11)
    np.testing.assert_allclose(covariances[3], C @ V[11, 11] @ C.T + R, atol=1e-11)
    # Without a horizon each row is predicted from those before it.
    each = model.predict(Y)
    assert each.shape == (8, 3)
    np.testing.assert_allclose(each[4], model.predict(Y[:4], horizon=1)[0], atol=1e-11)


def test_missing_entries_are_marginalised():
    model, Y = make_model(), draw_rows(6, gaps=False)
    Y[:, 1] = np.nan
    part = LinearGaussianModel(
        2,
        transition=TURN,
        observation=LOOK[[0, 2]],
        transition_noise=model.transition_noise,
        observation_noise=model.observation_noise[np.ix_([0, 2], [0, 2])],
        start_mean=model.start_mean,
        start_covariance=model.start_covariance,
    ).fit(np.zeros((2, 2)))
    assert model.score(Y) == pytest.approx(part.score(Y[:, [0, 2]]), rel=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("form", ["full", "diag"])
def test_em_never_falls_and_learns_the_model(gaps, form):
    truth = make_model(observation_noise=np.diag([0.5, 0.3, 0.4]))
    Y, _ = truth.sample(1500, random_state=0)
    if gaps:
        Y[np.random.default_rng(4).random(Y.shape) < 0.1] = np.nan
    model = LinearGaussianModel(2, observation_noise_type=form, max_iter=80, tol=1e-7)
    model.fit(Y)
    assert np.all(np.diff(model.history_["objective"]) > -1e-10)
    assert model.score(Y) > truth.score(Y) - 5.0
    found, true = np.linalg.eigvals(model.transition_), np.linalg.eigvals(TURN)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(true), atol=0.04)


def test_several_sequences_are_a_sum():
    model = make_model()
    parts = [draw_rows(9), draw_rows(8, gaps=False)]
    joined = np.concatenate(parts)
    assert model.score(parts) == pytest.approx(sum(model.score(part) for part in parts))
    assert model.score(joined, lengths=[9, 8]) == model.score(parts)
    np.testing.assert_array_equal(model.smooth(parts).means[9:], model.smooth(parts[1]).means)
    listed = LinearGaussianModel(1, max_iter=3, tol=0.0)
    first, second = clone(listed).fit(parts), clone(listed).fit(joined, lengths=[9, 8])
    np.testing.assert_array_equal(first.transition_, second.transition_)
    assert not np.array_equal(first.start_covariance_, 10.0 * np.eye(1))


def test_the_local_level_is_exponential_smoothing():
    random = np.random.default_rng(4)
    y = np.cumsum(random.normal(size=400))[:, None] + random.normal(size=(400, 1))
    model = LinearGaussianModel.local_level(transition_noise=0.5, observation_noise=2.0, start_covariance=10.0).fit(y)
    # The gain of the steady state solves P^2 - Q P - Q R = 0 for the predicted variance P.
    variance = (0.5 + np.sqrt(0.25 + 4 * 0.5 * 2.0)) / 2
    gain = variance / (variance + 2.0)
    level = model.filter(y[:200]).means[-1, 0]
    for value in y[200:, 0]:
        level += gain * (value - level)
    assert model.predict(y, horizon=1)[0, 0] == pytest.approx(level, abs=1e-10)


def test_an_autoregression_is_least_squares():
    random = np.random.default_rng(4)
    x = np.zeros(600)
    for t in range(2, 600):
        x[t] = 1.2 * x[t - 1] - 0.5 * x[t - 2] + random.normal()
    model = LinearGaussianModel.autoregressive(2, start_covariance=1e-6, reg_covar=0.0, tol=1e-10).fit(x[:, None])
    # The first value is x_1 = 0 and so is the one before it: nothing but the regression is left.
    lagged = np.stack([x[:-1], np.concatenate([[0.0], x[:-2]])], axis=1)
    coefficients = np.linalg.lstsq(lagged, x[1:], rcond=None)[0]
    np.testing.assert_allclose(model.transition_[0], coefficients, atol=1e-5)
    np.testing.assert_array_equal(model.transition_[1], [1.0, 0.0])
    assert model.transition_noise_[0, 0] == pytest.approx(np.mean((x[1:] - lagged @ coefficients) ** 2), rel=1e-4)
    assert np.count_nonzero(model.transition_noise_) == 1


def test_a_season_and_a_trend_are_continued():
    t = np.arange(80)
    y = (0.3 * t + np.tile([2.0, -1.0, 0.0, -1.0], 20))[:, None] + 0.05 * np.random.default_rng(4).normal(size=(80, 1))
    model = LinearGaussianModel.seasonal(4, trend=True, max_iter=200, tol=0.0)
    model.fit(y)
    forecast = model.predict(y, horizon=8)[:, 0]
    np.testing.assert_allclose(forecast, 0.3 * np.arange(80, 88) + np.tile([2.0, -1.0, 0.0, -1.0], 2), atol=0.4)


def test_chunks_of_time_give_what_one_pass_gives(monkeypatch):
    model = make_model()
    Y, _ = model.sample(3000, random_state=1)
    Y[100:140, 1] = np.nan
    whole = model.smooth(Y)
    monkeypatch.setattr(passes, "CHUNK", 700)
    runs = [clone(model).set_params(n_jobs=jobs).fit(np.zeros((4, 3))).smooth(Y) for jobs in (1, 3)]
    np.testing.assert_array_equal(runs[0].means, runs[1].means)
    np.testing.assert_array_equal(runs[0].covariances, runs[1].covariances)
    np.testing.assert_allclose(runs[0].means, whole.means, atol=1e-10)
    np.testing.assert_allclose(runs[0].covariances, whole.covariances, atol=1e-11)
    # A state that is not seen forgets nothing: its chunks are walked through one by one.
    blind = make_model(transition=np.eye(2), observation=np.outer([1.0, 1.0, 1.0], [1.0, 0.0]))
    np.testing.assert_allclose(blind.filter(Y).means[-1, 0], _filter_whole(blind, Y, monkeypatch), rtol=1e-9)


def _filter_whole(model, Y, monkeypatch):
    monkeypatch.setattr(passes, "CHUNK", 10**9)
    return model.filter(Y).means[-1, 0]


def test_covariances_stay_symmetric_and_semi_definite():
    model = make_model(observation_noise=1e-4 * np.eye(3), start_covariance=1e6 * np.eye(2))
    Y, _ = model.sample(200, random_state=2)
    for estimates in (model.filter(Y), model.smooth(Y)):
        np.testing.assert_array_equal(estimates.covariances, estimates.covariances.transpose(0, 2, 1))
        assert np.linalg.eigvalsh(estimates.covariances).min() >= -1e-18


def test_samples_have_the_moments_of_the_model():
    model = make_model(start_mean=0.0)
    X, states = model.sample(60_000, random_state=0)
    stationary = np.linalg.solve(np.eye(4) - np.kron(TURN, TURN), model.transition_noise_.ravel()).reshape(2, 2)
    np.testing.assert_allclose(np.cov(states.T), stationary, rtol=0.1, atol=0.1)
    np.testing.assert_allclose(np.cov((X - states @ LOOK.T).T), model.observation_noise_, atol=0.03)


def test_a_model_survives_its_file(tmp_path):
    model, Y = make_model(), draw_rows(9)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.smooth(Y).means, model.smooth(Y).means)


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (
            lambda: make_model(transition=np.eye(3)),
            ParameterError,
            r"transition must have shape \(2, 2\); got \(3, 3\)",
        ),
        (
            lambda: make_model(transition_noise=-np.eye(2)),
            ParameterError,
            "transition_noise must have no negative eigenvalue",
        ),
        (
            lambda: make_model(observation_noise=np.triu(np.ones((3, 3)))),
            ParameterError,
            "observation_noise must be symmetric",
        ),
        (lambda: make_model(learn=["speed"]), DataError, r"learn must name parameters; got \['speed'\]"),
        (lambda: make_model().score(draw_rows(9), lengths=[4, 4]), DataError, "sum to the number of rows, 9; got 8"),
        (lambda: make_model().smooth(draw_rows(9), controls=np.zeros((9, 1))), DataError, r"shape \(9, 0\)"),
        (lambda: make_model().predict([draw_rows(9), draw_rows(8)]), DataError, "predict takes one sequence; got 2"),
        (
            lambda: make_model(observation_noise=0.0).score(draw_rows(9)),
            DataError,
            "observation is singular at step",
        ),
        (lambda: make_model().fit(np.full((4, 3), np.nan)), DataError, "column 0 is NaN at every step"),
        (lambda: LinearGaussianModel.seasonal(1), ParameterError, "period must be an integer in"),
    ],
)
def test_wrong_input_is_named(act, error, text):
    with pytest.raises(error, match=text):
        act()
