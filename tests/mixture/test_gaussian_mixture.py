"""GaussianMixture: closed forms, optimality, invariance, conditionals, collapse and errors."""

import warnings

import numpy as np
import pytest
import sklearn.mixture
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import KMeans
from mercer.errors import DataError
from mercer.mixture import GaussianMixture, expected_log_likelihood, free_energy, responsibilities

KINDS = ("full", "tied", "diag", "spherical")


@pytest.fixture(scope="module")
def blobs():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [300, 200, 100])
    roots = np.array([[[1.0, 0.0], [0.8, 0.5]], [[0.6, 0.0], [-0.3, 1.2]], [[0.4, 0.0], [0.0, 0.4]]])
    means = np.array([[0.0, 0.0], [5.0, 1.0], [1.0, 5.0]])
    noise = generator.normal(size=(600, 2))
    return means[labels] + np.einsum("nij,nj->ni", roots[labels], noise), labels


def fitted(X, kind="full", **options):
    return GaussianMixture(3, covariance_type=kind, random_state=0, **{"tol": 1e-10, "max_iter": 1000} | options).fit(X)


@pytest.mark.catalogue("DE-05", "DE-06")
@pytest.mark.parametrize("kind", KINDS)
def test_one_component_is_the_mean_and_covariance_in_one_step(blobs, kind):
    X = blobs[0]
    model = GaussianMixture(1, covariance_type=kind, reg_covar=0).fit(X)
    full = np.cov(X, rowvar=False, ddof=0)
    expected = {"full": full[None], "tied": full, "diag": np.diag(full)[None], "spherical": [np.diag(full).mean()]}[
        kind
    ]
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.covariances_, expected, rtol=1e-10)
    assert model.n_iter_ == 2


@pytest.mark.catalogue("DE-05")
def test_the_density_integrates_to_one_and_does_not_know_the_order_of_components(blobs):
    model = fitted(blobs[0])
    axis = np.linspace(-8, 12, 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(model.score_samples(grid)).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1.0, abs=1e-6)
    other = fitted(blobs[0])
    for name in ("weights_", "means_", "covariances_", "precisions_cholesky_"):
        setattr(other, name, getattr(model, name)[::-1])
    np.testing.assert_allclose(other.score_samples(grid), model.score_samples(grid), rtol=1e-12)


@pytest.mark.catalogue("DE-05")
@pytest.mark.parametrize("kind", KINDS)
def test_densities_are_those_of_the_formula_and_samples_have_the_moments_of_the_mixture(blobs, kind):
    model = fitted(blobs[0], kind)
    covariances = model._components().each_covariance()
    parts = zip(model.weights_, model.means_, covariances)
    joint = np.array([np.log(w) + multivariate_normal(m, C).logpdf(blobs[0]) for w, m, C in parts]).T
    np.testing.assert_allclose(model.log_joint(blobs[0]), joint, rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(blobs[0]), logsumexp(joint, axis=1), rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(blobs[0]).sum(axis=1), 1.0, rtol=1e-12)
    X, y = model.sample(40000)
    mean = model.weights_ @ model.means_
    gaps = model.means_ - mean
    covariance = np.einsum("k,kij->ij", model.weights_, covariances + gaps[:, :, None] * gaps[:, None, :])
    np.testing.assert_allclose(X.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(X, rowvar=False), covariance, atol=0.15)
    np.testing.assert_allclose(np.bincount(y) / 40000, model.weights_, atol=0.01)


@pytest.mark.catalogue("DE-06", "CL-09")
@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_never_falls_and_its_gradient_vanishes_at_the_end(blobs, kind):
    X = blobs[0]
    model = fitted(X, kind, reg_covar=0, tol=1e-13)
    assert (np.diff(model.lower_bounds_) >= -1e-13).all()
    q = model.predict_proba(X)
    for k, C in enumerate(model._components().each_covariance()):
        slope = np.linalg.solve(C, (q[:, k, None] * (X - model.means_[k])).sum(axis=0))
        np.testing.assert_allclose(slope / len(X), 0.0, atol=1e-5)
    np.testing.assert_allclose(q.mean(axis=0), model.weights_, atol=1e-5)
    assert model.lower_bound_ == pytest.approx(model.score(X), rel=1e-12)
    assert adjusted_rand_score(blobs[1], model.predict(X)) > 0.9


def step_em(X, shares, means, covariances):
    """One step of the notes' algorithm, row by row: responsibilities, then shares, means and covariances of them."""
    joint = np.array([t * multivariate_normal(m, C).pdf(X) for t, m, C in zip(shares, means, covariances, strict=True)])
    likelihood = np.log(joint.sum(axis=0)).mean()
    q = joint / joint.sum(axis=0)
    counts = q.sum(axis=1)
    means = q @ X / counts[:, None]
    covariances = [((X - m).T * w) @ (X - m) / c for m, w, c in zip(means, q, counts, strict=True)]
    return likelihood, (counts / len(X), means, covariances)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.catalogue("DE-06")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_every_step_is_that_of_the_algorithm_from_equal_shares_unit_covariances_and_random_rows(blobs, unit):
    X = blobs[0][::4]
    rows = np.random.default_rng(5).choice(len(X), 3, replace=False)
    start = {
        "weights_init": np.full(3, 1 / 3),
        "means_init": unit * X[rows],
        "precisions_init": [np.eye(2) / unit**2] * 3,
    }
    state, likelihoods = (start["weights_init"], X[rows], [np.eye(2)] * 3), []
    for count in range(1, 6):
        likelihood, state = step_em(X, *state)
        likelihoods.append(likelihood - 2 * np.log(unit))
        model = GaussianMixture(3, reg_covar=0.0, tol=0.0, max_iter=count, **start).fit(unit * X)
        np.testing.assert_allclose(model.weights_, state[0], rtol=1e-8)
        np.testing.assert_allclose(model.means_, unit * state[1], atol=1e-8 * unit)
        np.testing.assert_allclose(model.covariances_, unit**2 * np.array(state[2]), atol=1e-8 * unit**2)
        np.testing.assert_allclose(model.lower_bounds_, likelihoods, atol=1e-9)
        q = model.predict_proba(unit * X)
        np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
        assert q.sum() == pytest.approx(len(X))
    assert (np.diff(likelihoods) > 0).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.catalogue("DE-06")
def test_where_it_ends_depends_on_where_it_begins():
    """Components that begin alike stay alike: the saddle of one Gaussian. Apart, they part, and are far more likely."""
    x = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])[:, None]
    settings = {"weights_init": [0.5, 0.5], "precisions_init": np.ones((2, 1, 1)), "reg_covar": 0.0, "tol": 1e-12}
    alike = GaussianMixture(2, means_init=[[0.0], [0.0]], **settings).fit(x)
    np.testing.assert_allclose(alike.means_, 0.0, atol=1e-12)
    variance = 28 / 6
    assert alike.score(x) == pytest.approx(-0.5 * np.log(2 * np.pi * variance) - 0.5)
    apart = GaussianMixture(2, means_init=[[-1.0], [1.0]], max_iter=1000, **settings).fit(x)
    np.testing.assert_allclose(apart.means_[0], -apart.means_[1], atol=1e-6)
    assert apart.score(x) > alike.score(x) + 0.01


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.catalogue("DE-06")
def test_a_component_on_one_point_has_the_floor_as_its_variance():
    """Far from the others, two equal rows are a component whose covariance is the floor and nothing else."""
    X = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), [[50.0, 50.0]] * 2])
    start = {"means_init": [[0.0, 0.0], [50.0, 50.0]], "weights_init": [0.5, 0.5], "precisions_init": [np.eye(2)] * 2}
    for floor in (1e-6, 1e-2):
        model = GaussianMixture(2, reg_covar=floor, **start).fit(X)
        np.testing.assert_allclose(model.covariances_[1], floor * np.eye(2), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(model.means_[1], 50.0)
        assert model.weights_[1] == pytest.approx(2 / 32)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.catalogue("DE-06")
def test_of_several_restarts_the_most_likely_is_kept():
    # Six far clusters and six components: starts at random rows often end with two components in one cluster.
    random = np.random.default_rng(0)
    centres = 20.0 * np.array([[0, 0], [1, 0], [0, 1], [5, 5], [6, 5], [5, 6]])
    X = (centres[:, None] + random.normal(size=(6, 30, 2))).reshape(-1, 2)
    settings = {"init_params": "random_from_data", "max_iter": 300}
    truth = np.repeat(np.arange(6), 30)
    misled = (
        seed
        for seed in range(50)
        if adjusted_rand_score(truth, GaussianMixture(6, random_state=seed, **settings).fit_predict(X)) < 0.99
    )
    settings["random_state"] = next(misled)
    models = [GaussianMixture(6, n_init=count, **settings).fit(X) for count in (1, 2, 4, 8, 16)]
    values = [model.lower_bound_ for model in models]
    # A restart more never lowers the best, since restarts are those of fewer and one more; here it raises it.
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > values[0] + 0.05
    best = models[-1]
    # The model that is kept is the one of that value: its record, its score, and all six clusters told apart.
    assert best.score(X) == pytest.approx(best.lower_bound_, rel=1e-9)
    assert best.history_["objective"][-1] == pytest.approx(best.lower_bound_, rel=1e-9)
    assert len(best.history_["objective"]) == best.n_iter_
    assert adjusted_rand_score(np.repeat(np.arange(6), 30), best.predict(X)) == 1.0
    assert adjusted_rand_score(np.repeat(np.arange(6), 30), models[0].predict(X)) < 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.catalogue("DE-09")
def test_the_m_step_maximises_q_and_the_bound_is_q_plus_the_entropy(blobs):
    X = blobs[0][::10]
    start = fitted(blobs[0], "diag", max_iter=2, tol=0)
    table = start.log_joint(X)
    q, value = responsibilities(table)
    assert free_energy(q, table) == pytest.approx(value, rel=1e-12)
    options = {"weights_init": start.weights_, "means_init": start.means_, "precisions_init": start.precisions_}
    after = GaussianMixture(3, covariance_type="diag", max_iter=1, reg_covar=0, **options).fit(X)

    def minus_q(parameters):
        means, logs = parameters[:6].reshape(3, 2), parameters[6:12].reshape(3, 2)
        shares = parameters[12:] - logsumexp(parameters[12:])
        gaps = (X[:, None] - means) ** 2 * np.exp(-logs) + logs + np.log(2 * np.pi)
        return -expected_log_likelihood(q, shares - 0.5 * gaps.sum(axis=2))

    point = np.concatenate([after.means_.ravel(), np.log(after.covariances_).ravel(), np.log(after.weights_)])
    assert minus_q(point) == pytest.approx(-expected_log_likelihood(q, after.log_joint(X)), rel=1e-10)
    assert minus_q(point) - minimize(minus_q, point, method="BFGS").fun < 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_scikit_learn_from_the_same_start(blobs, kind):
    X = blobs[0]
    start = {"weights_init": np.full(3, 1 / 3), "means_init": X[[0, 300, 500]]}
    start["precisions_init"] = {
        "full": [np.eye(2)] * 3,
        "tied": np.eye(2),
        "diag": np.ones((3, 2)),
        "spherical": [1] * 3,
    }[kind]
    ours = GaussianMixture(3, covariance_type=kind, tol=1e-6, **start).fit(X)
    theirs = sklearn.mixture.GaussianMixture(3, covariance_type=kind, tol=1e-6, **start).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=1e-10)
    for name in ("score", "bic", "aic"):
        assert getattr(ours, name)(X) == pytest.approx(getattr(theirs, name)(X), rel=1e-10)


@pytest.mark.catalogue("DE-12")
def test_mixtures_beat_k_means_where_clusters_differ_and_equal_it_where_they_do_not():
    generator = np.random.default_rng(3)
    wide = np.concatenate(
        [generator.normal(size=(300, 2)) * [6.0, 0.4], generator.normal(size=(60, 2)) * 0.4 + [0, 3.0]]
    )
    labels = np.repeat([0, 1], [300, 60])
    mixture = GaussianMixture(2, random_state=0, n_init=5).fit_predict(wide)
    clusters = KMeans(2, random_state=0, n_init=5).fit_predict(wide)
    assert adjusted_rand_score(labels, mixture) > 0.9
    assert adjusted_rand_score(labels, clusters) < 0.5
    round_ones = generator.normal(size=(300, 2)) + np.repeat([[0, 0], [8, 0], [0, 8]], 100, axis=0)
    even = GaussianMixture(3, covariance_type="spherical", random_state=0).fit_predict(round_ones)
    assert adjusted_rand_score(even, KMeans(3, random_state=0, n_init=5).fit_predict(round_ones)) == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.catalogue("CL-09")
def test_a_shared_round_covariance_near_zero_gives_the_labels_of_k_means(blobs):
    clusters = KMeans(3, random_state=0).fit(blobs[0])
    model = GaussianMixture(3, covariance_type="spherical", max_iter=0, means_init=clusters.cluster_centers_)
    model.set_params(weights_init=[0.5, 0.3, 0.2], precisions_init=np.full(3, 1e8)).fit(blobs[0])
    np.testing.assert_array_equal(model.predict(blobs[0]), clusters.labels_)
    assert np.sort(model.predict_proba(blobs[0]), axis=1)[:, -1].min() > 1 - 1e-6


@pytest.mark.catalogue("DE-07")
@pytest.mark.parametrize("kind", KINDS)
def test_hard_em_climbs_the_likelihood_of_rows_and_labels(blobs, kind):
    model = fitted(blobs[0], kind, assignment="hard")
    assert (np.diff(model.lower_bounds_) >= -1e-5).all()
    assert model.lower_bound_ == pytest.approx(model.log_joint(blobs[0]).max(axis=1).mean(), rel=1e-10)
    for k in range(3):
        np.testing.assert_allclose(model.means_[k], blobs[0][model.predict(blobs[0]) == k].mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions_once_the_means_are_given(blobs, kind):
    X, weight = blobs[0][::3], np.random.default_rng(4).integers(0, 4, 200)
    options = {"covariance_type": kind, "means_init": X[[0, 110, 180]], "tol": 1e-9, "max_iter": 2000}
    weighted = GaussianMixture(3, **options).fit(X, sample_weight=weight.astype(float))
    repeated = GaussianMixture(3, **options).fit(X.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-8)
    assert weighted.bic(X, sample_weight=weight) == pytest.approx(repeated.bic(X.repeat(weight, axis=0)), rel=1e-10)
    assert weighted.score(X, sample_weight=weight) == pytest.approx(repeated.lower_bound_, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_tiny_components_far_apart_keep_their_digits(kind):
    """Spreads of 1e-5 at a distance of 1e5: sums about one middle would lose every digit of the covariances."""
    generator = np.random.default_rng(5)
    near = generator.normal(size=(500, 2)) * 1e-5
    X = np.concatenate([near + np.array([1e5, 0.0]), near + np.array([-1e5, 3.0])])
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(X)
    alone = GaussianMixture(1, covariance_type=kind, reg_covar=0).fit(near)
    expected = alone.covariances_ * np.ones_like(model.covariances_)
    # The rows themselves, near 1e5, hold the spread to six digits.
    np.testing.assert_allclose(model.covariances_ / 1e-10, expected / 1e-10, rtol=1e-3)


def test_wide_rows_are_summed_about_the_means():
    X = np.random.default_rng(6).normal(size=(400, 100)) + np.repeat([[0.0], [4.0]], 200, axis=0)
    ours = GaussianMixture(2, means_init=X[[0, 300]], reg_covar=1e-3).fit(X)
    theirs = sklearn.mixture.GaussianMixture(2, means_init=X[[0, 300]], reg_covar=1e-3).fit(X)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-9)


@pytest.mark.catalogue("PE-29")
def test_marginals_and_conditionals_are_those_of_the_joint_density(blobs):
    X = np.column_stack([blobs[0], blobs[0] @ [0.5, -1.0] + np.random.default_rng(7).normal(size=600)])
    model = fitted(X)
    some = np.array([[0.3, 1.0], [4.0, 0.0]])
    axis = np.linspace(-15, 15, 6001)
    for row in some:
        rows = np.column_stack([np.full_like(axis, row[0]), axis, np.full_like(axis, row[1])])
        density = np.exp(model.score_samples(rows))
        integral = np.trapezoid(density, axis)
        assert np.exp(model.marginal([0, 2]).score_samples(row[None])[0]) == pytest.approx(integral, rel=1e-6)
        given = model.conditional([0, 2], row)
        np.testing.assert_allclose(np.exp(given.score_samples(axis[:, None])), density / integral, rtol=1e-5, atol=1e-9)
    at_mean = fitted(X[:, :2])
    one = GaussianMixture(1).fit(X).conditional([0], [X[:, 0].mean()])
    np.testing.assert_allclose(one.means_[0], X[:, 1:].mean(axis=0), rtol=1e-8)
    assert at_mean.marginal([1]).means_.shape == (3, 1)


def test_a_collapse_is_guarded_reported_and_without_a_floor_an_error():
    X = np.concatenate([np.random.default_rng(8).normal(size=(50, 2)), np.full((20, 2), 7.0)])
    with pytest.warns(
        ConvergenceWarning, match="component . collapsed .* Raise reg_covar, lower n_components, or drop"
    ):
        model = GaussianMixture(2, random_state=0).fit(X)
    assert len(model.collapsed_) == 1
    assert model.weights_[model.collapsed_[0]] == pytest.approx(20 / 70)
    assert np.isfinite(model.lower_bound_)
    with pytest.raises(DataError, match=r"GaussianMixture: component \d collapsed.*increase reg_covar"):
        GaussianMixture(2, reg_covar=0, random_state=0).fit(X)


def test_errors_are_sentences_with_cures(blobs):
    X = blobs[0]
    with pytest.raises(DataError, match="Expected n_samples >= n_components but got n_components = 5, n_samples = 3"):
        GaussianMixture(5).fit(X[:3])
    with pytest.raises(DataError, match=r"'weights' should be normalized, but got sum\(weights\) = 0\.90000"):
        GaussianMixture(2, weights_init=[0.5, 0.4]).fit(X)
    with pytest.raises(DataError, match=r"'means' should have the shape of \(2, 2\), but got \(2, 3\)"):
        GaussianMixture(2, means_init=np.zeros((2, 3))).fit(X)
    model = fitted(X)
    with pytest.raises(DataError, match=r"columns must be different numbers in \[0, 1\]; got \[0, 2\]"):
        model.marginal([0, 2])
    with pytest.raises(DataError, match="conditional takes a value for each given column"):
        model.conditional([0, 1], [1.0, 2.0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_high_floor_lowers_the_likelihood_by_no_more_than_its_share(blobs, kind):
    """With a floor the M step is not that of the likelihood: it may lose half the floor times traces of precisions."""
    start = {"means_init": blobs[0][[0, 300, 500]], "weights_init": np.full(3, 1 / 3)}
    shapes = {"full": [np.eye(2)] * 3, "tied": np.eye(2), "diag": np.ones((3, 2)), "spherical": np.ones(3)}
    start["precisions_init"] = 50.0 * np.asarray(shapes[kind])
    model = GaussianMixture(3, covariance_type=kind, reg_covar=2.0, tol=1e-9, max_iter=5000, **start)
    model.fit(blobs[0])
    # The bound may fall where it is all but still, and the fit ends there.
    assert model.converged_ or model.certificate_.value < 1e-8
    again = model.set_params(warm_start=True, reg_covar=3.0).fit(blobs[0])
    assert np.isfinite(again.lower_bound_)


def test_verbose_prints_every_so_many_iterations(blobs, capsys):
    fitted(blobs[0], verbose=2, verbose_interval=5, init_params="random", tol=1e-6)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("GaussianMixture: run 0: iteration 5, log-likelihood -")
    assert ", change " in lines[0]
    assert lines[-1] == "GaussianMixture: run 0: converged"


def test_one_row_is_predicted_in_microseconds(blobs):
    import timeit

    model, row = fitted(blobs[0]), blobs[0][:1]
    assert min(timeit.repeat(lambda: model.predict(row), number=100, repeat=7)) / 100 < 5e-4


def test_a_floor_that_hides_the_groups_is_named():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(mean, 0.1, size=(50, 2)) for mean in (0.0, 1.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianMixture(2, random_state=0).fit(X)
        # A constant column has no groups to hide.
        GaussianMixture(2, random_state=0).fit(np.c_[X, np.ones(100)])
    with pytest.warns(ConvergenceWarning, match=r"reg_covar \(1e-06\) blurs the groups.*column [01].*Scale the column"):
        GaussianMixture(2, random_state=0).fit(1e-4 * X)
