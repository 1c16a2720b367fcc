"""Training: counting, Baum-Welch, Viterbi training, priors, constraints, weights, missing steps."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DataError
from mercer.hmm import GMMHMM, CategoricalHMM, DensityHMM, GaussianHMM, PoissonHMM
from mercer.mixture import GaussianMixture
from tests.hmm.models import COVARIANCES, EVERY, MOVES, build, categorical, gaussian, poisson


@pytest.fixture(autouse=True)
def _few_iterations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.catalogue("GM-15", "DE-08")
@pytest.mark.parametrize(("maker", "kind"), EVERY)
@pytest.mark.parametrize("training", ["baum-welch", "viterbi"])
def test_the_objective_never_falls(maker, kind, training):
    X, _ = build(maker, kind).sample(300, random_state=0)
    model = type(build(maker, kind))(3, training=training, random_state=0, n_iter=30, tol=1e-6)
    model.set_params(**({"covariance_type": kind} if kind else {}))
    model.fit(X, lengths=[100, 200])
    values = model.history_["objective"]
    assert np.all(np.diff(values) >= -1e-9 * np.abs(values[1:]))
    assert values[-1] > values[0]
    assert model.certificate_.kind == "likelihood ascent"


@pytest.mark.catalogue("GM-15")
@pytest.mark.parametrize(("maker", "kind"), EVERY)
def test_the_likelihood_has_no_slope_at_the_fitted_transitions(maker, kind):
    X, _ = build(maker, kind).sample(400, random_state=0)
    model = build(maker, kind).set_params(init_params="", n_iter=2000, tol=1e-9, params="st").fit(X)
    value, step = model.score(X), 1e-4
    for state in range(3):
        for other in range(3):
            moved = model.transmat_.copy()
            moved[state] = (1 - step) * moved[state]
            moved[state, other] += step
            changed = build(maker, kind)
            changed.startprob_, changed.transmat_ = model.startprob_, moved
            assert changed.score(X) <= value + 1e-6


@pytest.mark.catalogue("GM-15")
def test_counting_gives_conditional_frequencies():
    X = np.array([[0], [1], [1], [2], [0], [2], [2], [1]])
    states = np.array([0, 0, 1, 1, 0, 1, 1, 1])
    model = CategoricalHMM(2).fit(X, lengths=[5, 3], states=states)
    np.testing.assert_allclose(model.startprob_, [0.5, 0.5])
    # In the first sequence 0-0, 0-1, 1-1, 1-0; in the second 1-1 twice.
    np.testing.assert_allclose(model.transmat_, [[0.5, 0.5], [0.25, 0.75]])
    np.testing.assert_allclose(model.emissionprob_, [[2 / 3, 1 / 3, 0], [0, 2 / 5, 3 / 5]])
    heavier = CategoricalHMM(2).fit(X, lengths=[5, 3], states=states, sequence_weight=[1.0, 3.0])
    np.testing.assert_allclose(heavier.startprob_, [0.25, 0.75])
    np.testing.assert_allclose(heavier.transmat_, [[0.5, 0.5], [1 / 8, 7 / 8]])
    smoothed = CategoricalHMM(2, transmat_prior=2.0).fit(X, lengths=[5, 3], states=states)
    np.testing.assert_allclose(smoothed.transmat_, [[0.5, 0.5], [2 / 6, 4 / 6]])


def test_counting_fits_gaussians_to_the_rows_of_each_state():
    X, states = gaussian("full").sample(500, random_state=0)
    model = GaussianHMM(3, "full", covars_prior=0).fit(X, states=states)
    for state in range(3):
        np.testing.assert_allclose(model.means_[state], X[states == state].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.covars_[state], np.cov(X[states == state].T, bias=True), rtol=1e-10)


def test_known_states_leave_the_components_of_mixtures_to_em():
    generator = np.random.default_rng(0)
    states = np.repeat([0, 1, 0], [100, 100, 100])
    X = np.where(states == 0, generator.choice([-5.0, 5.0], 300), 0.0)[:, None] + generator.normal(size=(300, 1))
    model = GMMHMM(2, n_mix=2, covars_prior=0, random_state=0, tol=1e-8, n_iter=500).fit(X, states=states)
    mixture = GaussianMixture(2, covariance_type="diag", reg_covar=0, tol=1e-10, max_iter=500, random_state=0)
    mixture.fit(X[states == 0])
    np.testing.assert_allclose(np.sort(model.means_[0, :, 0]), np.sort(mixture.means_[:, 0]), atol=1e-3)
    np.testing.assert_allclose(model.transmat_, [[198 / 199, 1 / 199], [1 / 100, 99 / 100]])


@pytest.mark.catalogue("GM-15")
def test_one_state_is_maximum_likelihood_of_independent_rows():
    X = np.random.default_rng(0).normal(size=(50, 2)) * 3 + 1
    for kind, expected in (
        ("diag", X.var(axis=0)[None]),
        ("spherical", [X.var(axis=0).mean()]),
        ("full", np.cov(X.T, bias=True)[None]),
        ("tied", np.cov(X.T, bias=True)),
    ):
        model = GaussianHMM(1, kind, covars_prior=0).fit(X, lengths=[20, 30])
        np.testing.assert_allclose(model.means_[0], X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.covars_, expected, rtol=1e-10)
    counts = np.random.default_rng(0).poisson(4.0, size=(50, 2))
    np.testing.assert_allclose(PoissonHMM(1).fit(counts).lambdas_[0], counts.mean(axis=0), rtol=1e-12)
    symbols = np.random.default_rng(0).integers(0, 3, size=(50, 1))
    frequencies = np.bincount(symbols[:, 0]) / 50
    np.testing.assert_allclose(CategoricalHMM(1).fit(symbols).emissionprob_[0], frequencies, rtol=1e-12)


def test_one_m_step_takes_expected_frequencies():
    model = categorical()
    X, _ = model.sample(40, random_state=0)
    shares = model.predict_proba(X)
    trained = categorical().set_params(init_params="", n_iter=1).fit(X)
    expected = np.stack([shares[X[:, 0] == v].sum(axis=0) for v in range(4)], axis=1)
    np.testing.assert_allclose(trained.emissionprob_, expected / expected.sum(axis=1, keepdims=True), rtol=1e-10)
    np.testing.assert_allclose(trained.startprob_, shares[0], rtol=1e-10)


@pytest.mark.parametrize("kind", list(COVARIANCES))
def test_many_steps_give_back_the_parameters_that_drew_them(kind):
    X, _ = gaussian(kind).sample(6000, random_state=0)
    model = gaussian(kind).set_params(init_params="").fit(X)
    np.testing.assert_allclose(model.means_, gaussian(kind).means_, atol=0.15)
    np.testing.assert_allclose(model.transmat_, MOVES, atol=0.05)
    np.testing.assert_allclose(model.covars_, COVARIANCES[kind], atol=0.2)


@pytest.mark.parametrize(("maker", "kind"), EVERY)
def test_a_weight_stands_for_repetitions_of_a_sequence(maker, kind):
    X, _ = build(maker, kind).sample(60, random_state=0)
    settings = {"init_params": "", "n_iter": 3, "tol": 0}
    heavy = build(maker, kind, **settings).fit(X, lengths=[20, 40], sequence_weight=[3, 1])
    repeated = np.concatenate([X[:20], X[:20], X[:20], X[20:]])
    again = build(maker, kind, **settings).fit(repeated, lengths=[20, 20, 20, 40])
    for name in ("startprob_", "transmat_", *heavy._emission_names):
        np.testing.assert_allclose(vars(heavy)[name], vars(again)[name], rtol=1e-9, atol=1e-12)
    hard = settings | {"training": "viterbi"}
    heavy = build(maker, kind, **hard).fit(X, lengths=[20, 40], sequence_weight=[3, 1])
    again = build(maker, kind, **hard).fit(repeated, lengths=[20, 20, 20, 40])
    np.testing.assert_allclose(heavy.history_["objective"], again.history_["objective"], rtol=1e-12)


@pytest.mark.parametrize("kind", list(COVARIANCES))
def test_missing_entries_do_not_stop_the_ascent(kind):
    X, _ = gaussian(kind).sample(1200, random_state=0)
    generator = np.random.default_rng(0)
    X[generator.random(X.shape) < 0.2] = np.nan
    X[50:60] = np.nan
    model = gaussian(kind).set_params(init_params="", n_iter=200, tol=1e-5).fit(X)
    assert np.all(np.diff(model.history_["objective"]) >= -1e-8)
    np.testing.assert_allclose(model.means_, gaussian(kind).means_, atol=0.5)
    assert GaussianHMM(3, kind, random_state=0).fit(X).score(X) > -np.inf


def test_a_missing_step_counts_for_transitions_only():
    X, _ = categorical().sample(50, random_state=0)
    X = X.astype(float)
    X[10:20] = np.nan
    trained = categorical().set_params(init_params="", n_iter=1).fit(X)
    shares = categorical().predict_proba(X)
    seen = ~np.isnan(X[:, 0])
    expected = np.stack([shares[seen & (X[:, 0] == v)].sum(axis=0) for v in range(4)], axis=1)
    np.testing.assert_allclose(trained.emissionprob_, expected / expected.sum(axis=1, keepdims=True), rtol=1e-10)


def test_zero_transitions_stay_zero():
    X = np.repeat([0.0, 3.0, 6.0], 40)[:, None] + np.random.default_rng(0).normal(size=(120, 1))
    model = GaussianHMM(3, topology="left-right", init_params="tmc", random_state=0)
    model.startprob_ = np.array([1.0, 0.0, 0.0])
    model.means_ = np.array([[0.0], [3.0], [6.0]])
    model.set_params(init_params="tc").fit(X)
    assert model.transmat_[1, 0] == model.transmat_[2, 1] == model.transmat_[0, 2] == 0
    assert np.all(np.diff(model.predict(X)) >= 0)
    np.testing.assert_allclose(model.transmat_[2], [0, 0, 1])
    banded = GaussianHMM(4, topology="banded", random_state=0).fit(X)
    assert np.all(banded.transmat_[np.abs(np.subtract.outer(np.arange(4), np.arange(4))) > 1] == 0)
    mask = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    assert np.all(GaussianHMM(3, topology=mask, random_state=0).fit(X).transmat_[np.array(mask) == 0] == 0)


def test_what_params_leaves_out_is_not_learnt():
    X, _ = gaussian().sample(200, random_state=0)
    model = gaussian().set_params(init_params="", params="tc", n_iter=5).fit(X)
    np.testing.assert_array_equal(model.means_, gaussian().means_)
    np.testing.assert_array_equal(model.startprob_, gaussian().startprob_)
    assert np.any(model.covars_ != gaussian().covars_)
    model = poisson().set_params(init_params="", params="st", n_iter=2)
    model.fit(poisson().sample(50, random_state=0)[0])
    np.testing.assert_array_equal(model.lambdas_, poisson().lambdas_)


def test_the_best_of_several_runs_is_kept():
    X, _ = categorical().sample(300, random_state=0)
    single = [CategoricalHMM(3, random_state=0, n_init=n, n_iter=40).fit(X).log_likelihood_ for n in (1, 6)]
    assert single[1] >= single[0]


def test_a_state_that_dies_is_named_and_keeps_its_parameters():
    X = np.random.default_rng(0).normal(size=(60, 1))
    model = GaussianHMM(2, init_params="", n_iter=5)
    model.startprob_, model.transmat_ = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.5]])
    model.means_, model.covars_ = np.array([[0.0], [7.0]]), np.ones((2, 1))
    with pytest.warns(ConvergenceWarning, match=r"state 1 died in training \(of 1 in dead_states_\)"):
        model.fit(X)
    np.testing.assert_array_equal(model.dead_states_, [1])
    np.testing.assert_allclose(model.means_[1], 7.0)
    np.testing.assert_allclose(model.transmat_[1], [0.5, 0.5])


def test_priors_pull_towards_what_they_say():
    X, _ = gaussian().sample(100, random_state=0)
    pulled = gaussian().set_params(init_params="", means_prior=50.0, means_weight=1e6, n_iter=50).fit(X)
    np.testing.assert_allclose(pulled.means_, 50.0, atol=0.1)
    even = gaussian().set_params(init_params="", transmat_prior=1e6, startprob_prior=1e6).fit(X)
    np.testing.assert_allclose(even.transmat_, 1 / 3, atol=1e-3)
    wide = gaussian().set_params(init_params="", covars_prior=1e5, n_iter=50).fit(X)
    assert wide.covars_.min() > 100
    rates = poisson().set_params(init_params="", lambdas_prior=7e6, lambdas_weight=1e6).fit([[1, 2], [3, 4]])
    np.testing.assert_allclose(rates.lambdas_, 7.0, atol=0.01)


def test_a_state_that_shrinks_to_a_point_is_an_error_with_a_cure():
    X = np.repeat([[0.0], [5.0]], 10, axis=0)
    with pytest.raises(DataError, match=r"component 0 collapsed at iteration \d+. Raise covars_prior"):
        GaussianHMM(2, covars_prior=0, random_state=0).fit(X)
    assert np.all(GaussianHMM(2, random_state=0).fit(X).covars_ > 0)


def test_densities_of_any_kind_are_fitted_to_their_steps():
    X, _ = gaussian("full").sample(400, random_state=0)
    model = DensityHMM(3, density=GaussianMixture(1), random_state=0, n_iter=60).fit(X)
    same = GaussianHMM(3, "full", covars_prior=0, random_state=0, n_iter=60).fit(X)
    assert model.score(X) == pytest.approx(same.score(X), abs=0.5)
    assert model.certificate_.kind == "none"
    drawn, path = model.sample(50, random_state=0)
    assert drawn.shape == (50, 2)
    assert path.shape == (50,)
    X[3] = np.nan
    assert np.isfinite(model.score(X))


class _Laplace:
    """A density of one's own: no estimator, ``fit`` returns a new object."""

    def __init__(self, centre=0.0, scale=1.0):
        self.centre, self.scale = centre, scale

    def fit(self, X, sample_weight):
        order = np.argsort(X[:, 0])
        half = np.searchsorted(np.cumsum(sample_weight[order]), sample_weight.sum() / 2)
        centre = X[order[half], 0]
        return _Laplace(centre, np.average(np.abs(X[:, 0] - centre), weights=sample_weight))

    def logpdf(self, X):
        return -np.abs(X[:, 0] - self.centre) / self.scale - np.log(2 * self.scale)


def test_an_object_with_fit_and_logpdf_is_a_density():
    generator = np.random.default_rng(0)
    X = np.repeat([0.0, 8.0, 0.0], 60)[:, None] + generator.laplace(size=(180, 1))
    model = DensityHMM(2, density=_Laplace(), random_state=0).fit(X)
    assert sorted(round(float(density.centre)) for density in model.densities_) == [0, 8]
    assert (np.diff(model.predict(X)) != 0).sum() == 2


def test_a_mixture_of_one_component_is_a_gaussian():
    X, _ = gaussian("full").sample(200, random_state=0)
    for kind in ("diag", "full", "spherical"):
        plain = gaussian(kind).set_params(init_params="", n_iter=4, tol=0).fit(X)
        mixed = GMMHMM(3, covariance_type=kind, init_params="", n_iter=4, tol=0)
        mixed.startprob_, mixed.transmat_, mixed.weights_ = gaussian().startprob_, gaussian().transmat_, np.ones((3, 1))
        mixed.means_, mixed.covars_ = gaussian().means_[:, None], COVARIANCES[kind][:, None]
        mixed.fit(X)
        np.testing.assert_allclose(mixed.means_[:, 0], plain.means_, rtol=1e-9)
        np.testing.assert_allclose(mixed.history_["objective"], plain.history_["objective"], rtol=1e-10)


def test_starts_of_a_mixture_chain_among_equal_rows_give_one_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GMMHMM(3, n_mix=2, random_state=0).fit(np.zeros((40, 2)))
    assert [str(one.message) for one in caught if "first means gave 4 warnings; the first: KMeans" in str(one.message)]
    assert not [one for one in caught if str(one.message).startswith("KMeans")]
