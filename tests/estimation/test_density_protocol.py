"""One protocol for the densities of this library, of SciPy and of scikit-learn."""

import numpy as np
import pytest
import scipy.stats
import sklearn.mixture
import sklearn.neighbors
from sklearn.ensemble import IsolationForest

from mercer.decision import ClassDensities
from mercer.discriminant_analysis import ClassConditionalClassifier
from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    Density,
    GaussianDensity,
    GenerativeRegression,
    IndependentDensity,
    MixtureDensity,
    MultivariateGaussianDensity,
    TransformedDensity,
    as_density,
    data_log_likelihood,
)
from mercer.mixture import BernoulliMixture, GaussianMixture
from mercer.neighbors import HistogramDensity, KernelDensity
from mercer.svm import OneClassSVM

ROWS = np.r_[np.random.default_rng(0).normal(-2, 1, (60, 2)), np.random.default_rng(1).normal(3, 1, (90, 2))]
ESTIMATORS = [GaussianMixture(2, random_state=0), KernelDensity(bandwidth=0.5), HistogramDensity(bins=6)]


@pytest.mark.parametrize("density", [*ESTIMATORS, BernoulliMixture(2)], ids=lambda one: type(one).__name__)
def test_mixtures_kernels_and_histograms_are_densities(density):
    rows = (ROWS > 0).astype(float) if isinstance(density, BernoulliMixture) else ROWS
    assert isinstance(density, Density)
    fitted = density.fit(rows)
    np.testing.assert_array_equal(fitted.logpdf(rows), fitted.score_samples(rows))
    first, again, other = (fitted.sample(40, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (40, 2)
    assert not np.array_equal(first, other)
    assert fitted.sample(0, np.random.default_rng(0)).shape == (0, 2)
    assert fitted.parameters()
    # Draws have the mean of the rows: all these fits keep it.
    np.testing.assert_allclose(fitted.sample(20_000, 3).mean(axis=0), rows.mean(axis=0), atol=0.15)


def test_a_mixture_draws_as_scikit_learn_does_unless_a_seed_is_given():
    model = GaussianMixture(2, random_state=0).fit(ROWS)
    X, labels = model.sample(50)
    assert X.shape == (50, 2)
    assert (np.diff(labels) >= 0).all()
    np.testing.assert_array_equal(model.sample(50)[0], X)
    # With a seed the components are in random order, as independent draws are.
    draws = model.sample(50, random_state=0)
    assert np.abs(np.diff(model.predict(draws))).sum() > 5
    assert isinstance(model.sample(3, random_state=None), np.ndarray)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (scipy.stats.norm(1.0, 2.0), GaussianDensity(1.0, 4.0)),
        (scipy.stats.Normal(mu=1.0, sigma=2.0), GaussianDensity(1.0, 4.0)),
        (scipy.stats.multivariate_normal([1.0, 0.0], np.diag([4.0, 1.0])),
         MultivariateGaussianDensity([1.0, 0.0], np.diag([4.0, 1.0]))),
    ],
    ids=["frozen", "random variable", "multivariate"],
)  # fmt: skip
def test_distributions_of_scipy_stand_where_densities_stand(theirs, ours):
    rows = isinstance(ours, MultivariateGaussianDensity)
    x = ROWS[:20] if rows else ROWS[:20, 0]
    np.testing.assert_allclose(as_density(theirs).logpdf(x), ours.logpdf(x))
    assert as_density(theirs).fit(x).logpdf(x) == pytest.approx(ours.logpdf(x))
    drawn = as_density(theirs).sample(20_000, 0)
    assert drawn.shape == ((20_000, 2) if rows else (20_000,))
    np.testing.assert_array_equal(as_density(theirs).sample(9, 1), as_density(theirs).sample(9, 1))
    assert drawn.std(axis=0).reshape(-1)[0] == pytest.approx(2.0, rel=0.05)
    assert data_log_likelihood(theirs, x) == pytest.approx(data_log_likelihood(ours, x))
    other = GaussianDensity(0.0, 1.0) if not rows else MultivariateGaussianDensity.standard(2)
    for make in (MixtureDensity, ClassDensities):
        mine, wanted = make([theirs, other], [0.3, 0.7]), make([ours, other], [0.3, 0.7])
        name = "logpdf" if isinstance(mine, MixtureDensity) else "posterior"
        np.testing.assert_allclose(getattr(mine, name)(x), getattr(wanted, name)(x))
        assert len(mine.sample(7, 0)[0] if name == "posterior" else mine.sample(7, 0)) == 7
    classes = ClassConditionalClassifier.from_parameters([theirs, other], [0.3, 0.7], n_features=2 if rows else 1)
    wanted = ClassConditionalClassifier.from_parameters([ours, other], [0.3, 0.7], n_features=2 if rows else 1)
    table = x if rows else x[:, None]
    np.testing.assert_allclose(classes.predict_proba(table), wanted.predict_proba(table))


def test_discrete_and_kernel_distributions_of_scipy_and_families():
    poisson = as_density(scipy.stats.poisson(3.0))
    np.testing.assert_allclose(poisson.logpdf([0, 2]), scipy.stats.poisson(3.0).logpmf([0, 2]))
    kernel = scipy.stats.gaussian_kde(ROWS.T)
    np.testing.assert_allclose(as_density(kernel).logpdf(ROWS[:5]), kernel.logpdf(ROWS[:5].T))
    assert as_density(kernel).sample(6, 0).shape == (6, 2)
    fitted = as_density(scipy.stats.norm).fit(ROWS[:, 0])
    np.testing.assert_allclose(fitted.logpdf([0.5]), GaussianDensity().fit(ROWS[:, 0]).logpdf([0.5]))
    # A kernel density of two columns in a classifier: observations of SciPy's lie in columns.
    y = np.repeat([0, 1], [60, 90])
    known = [scipy.stats.gaussian_kde(ROWS[y == k].T) for k in (0, 1)]
    model = ClassConditionalClassifier.from_parameters(known, [0.4, 0.6], n_features=2)
    assert model.score(ROWS, y) > 0.95


def test_scipy_inside_other_densities():
    normal = scipy.stats.norm(0.0, 2.0)
    np.testing.assert_allclose(
        IndependentDensity(normal).logpdf(ROWS), IndependentDensity(GaussianDensity(0.0, 4.0)).logpdf(ROWS)
    )
    log_normal = TransformedDensity(normal, np.exp, np.log, np.exp)
    np.testing.assert_allclose(log_normal.logpdf([1.0, 2.0]), scipy.stats.lognorm(2.0).logpdf([1.0, 2.0]))
    model = GenerativeRegression(lambda X: X[:, 0], normal)
    np.testing.assert_allclose(model.logpdf(ROWS, ROWS[:, 1]), normal.logpdf(ROWS[:, 1] - ROWS[:, 0]))
    assert model.sample(ROWS, 3, random_state=0).shape == (3, 150)


@pytest.mark.parametrize("theirs", [
    sklearn.mixture.GaussianMixture(2, random_state=0), sklearn.neighbors.KernelDensity(bandwidth=0.5),
])  # fmt: skip
def test_estimators_of_scikit_learn(theirs):
    density = as_density(theirs).fit(ROWS)
    np.testing.assert_allclose(density.logpdf(ROWS), theirs.fit(ROWS).score_samples(ROWS))
    first, again, other = (density.sample(30, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (30, 2)
    assert not np.array_equal(first, other)
    ours, numbers = GaussianMixture(1).fit(ROWS), GaussianDensity(0.0, 9.0)
    mixed = MixtureDensity([density, ours, numbers], [0.2, 0.3, 0.5])
    logs = [density.logpdf(ROWS), ours.logpdf(ROWS), numbers.logpdf(ROWS).sum(axis=1)]
    np.testing.assert_allclose(np.exp(mixed.logpdf(ROWS)), np.exp(logs).T @ [0.2, 0.3, 0.5], rtol=1e-6)


def test_numbers_and_rows_of_one_column_are_drawn_into_one_matrix():
    column = ROWS[:, :1]
    mixed = MixtureDensity([GaussianDensity(100.0, 1.0), GaussianMixture(1).fit(column)], [0.5, 0.5])
    draws = mixed.sample(200, random_state=0)
    assert draws.shape == (200, 1)
    assert 60 < (draws[:, 0] > 50).sum() < 140
    worlds = ClassDensities([GaussianDensity(100.0, 1.0), GaussianMixture(1).fit(column)], [0.5, 0.5])
    X, labels = worlds.sample(100, 0)
    np.testing.assert_array_equal(X[:, 0] > 50, labels == 0)
    with pytest.raises(DataError, match="all densities must draw observations of one shape"):
        MixtureDensity([GaussianMixture(1).fit(column), GaussianMixture(1).fit(ROWS)], [0.5, 0.5]).sample(9, 0)


def test_weights_reach_the_estimator_inside_another_density():
    # The second argument of an estimator's fit is y: weights that are passed by position would be dropped.
    weight = np.arange(150) % 3
    inside = TransformedDensity(KernelDensity(bandwidth=0.5), np.exp, np.log, np.exp).fit(np.exp(ROWS), weight)
    alone = KernelDensity(bandwidth=0.5).fit(ROWS, sample_weight=weight)
    np.testing.assert_allclose(inside.density.logpdf(ROWS), alone.logpdf(ROWS))


def test_scores_that_are_no_log_densities_are_refused():
    for outliers in (OneClassSVM(), IsolationForest()):
        with pytest.raises(ParameterError, match="scores how unusual rows are, which is no log-density"):
            as_density(outliers)
        with pytest.raises(ParameterError, match="which is no log-density"):
            ClassConditionalClassifier(outliers).fit(ROWS, np.repeat([0, 1], [60, 90]))
    with pytest.raises(ParameterError, match=r"data_log_likelihood: a density must have logpdf, .* got int"):
        data_log_likelihood(3, [1.0])
    with pytest.raises(DataError, match="all densities must be of numbers, or all of rows"):
        MixtureDensity([GaussianDensity(), GaussianDensity([0.0, 1.0])], [0.5, 0.5]).logpdf([[0.0], [1.0], [2.0]][0])
