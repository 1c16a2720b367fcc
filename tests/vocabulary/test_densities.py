"""Every density in every place that takes one.

Producers are the public classes that have the methods of the protocol, and distributions of SciPy and scikit-learn.
Consumers are the public names whose documentation gives a parameter the type "density". A consumer that no recipe calls
fails a test, and so does a density that `make` cannot make: a new one joins the grid by existing.
"""

import contextlib
import inspect

import numpy as np
import pytest
import scipy.stats
import sklearn.mixture
import sklearn.neighbors
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, clone

from mercer.decision import ClassDensities
from mercer.decomposition import density_kurtosis, density_negentropy
from mercer.discriminant_analysis import ClassConditionalClassifier
from mercer.errors import MercerError
from mercer.estimation import (
    BetaGeometric,
    Density,
    GaussianDensity,
    GenerativeRegression,
    IndependentDensity,
    JeffreysPrior,
    MixtureDensity,
    RunningDensity,
    TransformedDensity,
    as_density,
    data_log_likelihood,
    fisher_information,
    grid_posterior,
    laplace_evidence,
    log_likelihood_gradient,
    maximum_a_posteriori,
    monte_carlo_evidence,
    quadrature_evidence,
    select_density,
    simulate_large_samples,
    simulate_risk,
    standardised_sums,
)
from mercer.hmm import DensityHMM
from mercer.inspection import GaussianContourDisplay, TransformedDensityDisplay
from mercer.outliers import DensityOutlier
from tests.vocabulary.public_names import list_classes, list_consumers

METHODS = ("fit", "logpdf", "sample", "parameters")
NORMAL_ROWS = np.random.default_rng(0).normal(size=(80, 2)) + np.repeat([[0.0, 0.0], [4.0, 1.0]], 40, axis=0)
# Values for constructor parameters that have no default, by their name.
ARGUMENTS = {
    "density": GaussianDensity(0.5, 2.0),
    "densities": [GaussianDensity(-1.0, 2.0), GaussianDensity(3.0, 1.0)],
    "weights": [0.4, 0.6],
    "mean": [0.0, 1.0],
    "covariance": [[2.0, 0.5], [0.5, 1.0]],
    "belief": BetaGeometric(2.0, 3.0),
    "family": GaussianDensity,
    "points": [[0.0, 1.0], [2.0, 0.5]],
    "log_weights": [-0.5, -1.0],
    "function": np.exp,
    "inverse": np.log,
    "slope": np.exp,
}


def make(cls):
    """Return a density of a class, fitted if it is an estimator."""
    needed = [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    unknown = set(needed) - set(ARGUMENTS)
    assert not unknown, f"teach the grid how to make {cls.__name__}: give ARGUMENTS a value for {unknown}"
    density = cls(**{name: ARGUMENTS[name] for name in needed})
    if not isinstance(density, BaseEstimator):
        return density
    for rows in (NORMAL_ROWS, (NORMAL_ROWS > 0.5).astype(float)):
        try:
            return density.fit(rows)
        except MercerError:
            continue
    return pytest.fail(f"teach the grid which rows {cls.__name__} takes")


OWN = list_classes(lambda cls: cls is not Density and all(callable(getattr(cls, name, None)) for name in METHODS))
FOREIGN = {
    "scipy frozen": scipy.stats.norm(1.0, 2.0),
    "scipy discrete": scipy.stats.poisson(3.0),
    "scipy random variable": scipy.stats.Normal(mu=1.0, sigma=2.0),
    "scipy multivariate": scipy.stats.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]),
    "scipy kernel": scipy.stats.gaussian_kde(NORMAL_ROWS.T),
    "scikit-learn kernel": sklearn.neighbors.KernelDensity(bandwidth=0.5).fit(NORMAL_ROWS),
    "scikit-learn mixture": sklearn.mixture.GaussianMixture(2, random_state=0).fit(NORMAL_ROWS),
}
DENSITIES = {name: make(cls) for name, cls in OWN.items()} | FOREIGN
CONSUMERS = list_consumers(r"\bdensit(y|ies)\b", names=("density", "densities"))


def test_the_grid_finds_the_densities_and_their_consumers():
    assert len(OWN) >= 20
    assert {"estimation.GaussianDensity", "mixture.GaussianMixture", "neighbors.KernelDensity"} <= set(OWN)
    # The density of a sparse matrix is its share of numbers other than zero.
    assert set(CONSUMERS) - {"random_projection.SparseRandomProjection"} == set(RECIPES), (
        "a place that takes a density has no recipe, or the recipe is of no place"
    )


@pytest.mark.parametrize("name", DENSITIES)
def test_the_protocol_holds(name):
    density = as_density(DENSITIES[name])
    assert isinstance(density, Density)
    assert isinstance(density.parameters(), dict)
    x = density.sample(30, 0)
    assert len(x) == 30
    np.testing.assert_array_equal(density.sample(30, 0), x)
    logs = density.logpdf(x)
    assert logs.shape in ((30,), x.shape)
    assert np.isfinite(logs).all()
    assert len(density.sample(0, 0)) == 0
    # What fit returns is a density again.
    fitted = density.fit(x)
    assert isinstance(as_density(fitted), Density)
    assert np.isfinite(data_log_likelihood(fitted, x))


def take_class_conditional(density, x):
    rows = x.reshape(len(x), -1)
    y = np.repeat([0, 1], [len(rows) // 2, len(rows) - len(rows) // 2])
    known = ClassConditionalClassifier.from_parameters([density, density], [0.3, 0.7], n_features=rows.shape[1])
    np.testing.assert_allclose(known.predict_proba(rows), np.tile([0.3, 0.7], (len(rows), 1)), atol=1e-9)
    template = clone(density) if isinstance(density, BaseEstimator) else density
    form = [template, template] if not hasattr(density, "fit") else template
    model = ClassConditionalClassifier(form).fit(rows, y)
    pairs = zip(model.densities_, model.priors_, strict=True)
    joint = [log_of(fitted, rows) + np.log(prior) for fitted, prior in pairs]
    wanted = np.exp(np.array(joint) - logsumexp(joint, axis=0)).T
    np.testing.assert_allclose(model.predict_proba(rows), wanted, atol=1e-9)


def log_of(density, rows):
    """The log-density of each row, by the definition: densities of numbers are independent columns."""
    values = np.asarray(as_density(density).logpdf(rows))
    return values.sum(axis=1) if values.ndim == 2 else values


def take_class_densities(density, x):
    world = ClassDensities([density, density], [0.2, 0.8])
    np.testing.assert_allclose(world.posterior(x).reshape(-1, 2), np.tile([0.2, 0.8], (world.decide(x).size, 1)))
    drawn, labels = world.sample(40, 0)
    assert drawn.shape == as_density(density).sample(40, 0).shape
    assert set(labels) <= {0, 1}
    assert world.bayes_error(method="monte_carlo", n_samples=50, random_state=0).value == pytest.approx(0.2)


def take_mixture(density, x):
    mixture = MixtureDensity([density, density], [0.2, 0.8])
    np.testing.assert_allclose(mixture.logpdf(x), as_density(density).logpdf(x))
    assert mixture.sample(40, 0).shape == as_density(density).sample(40, 0).shape


def take_independent(density, x):
    columns = np.column_stack([x, x[::-1]])
    logs = IndependentDensity(density).logpdf(columns)
    np.testing.assert_allclose(logs, as_density(density).logpdf(x) + as_density(density).logpdf(x[::-1]))
    assert len(IndependentDensity(density).sample(5, 0)) == 5


def take_transformed(density, x):
    shifted = TransformedDensity(density, lambda t: 2 * t + 1, lambda t: (t - 1) / 2, lambda t: np.full_like(t, 2.0))
    np.testing.assert_allclose(shifted.logpdf(2 * x + 1), as_density(density).logpdf(x) - np.log(2.0))
    np.testing.assert_allclose(shifted.sample(9, 0), 2 * as_density(density).sample(9, 0) + 1)


def take_generative(density, x):
    model = GenerativeRegression(lambda X: X[:, 0], density)
    rows = np.random.default_rng(1).normal(size=(len(x), 1))
    np.testing.assert_allclose(model.logpdf(rows, rows[:, 0] + x), as_density(density).logpdf(x), atol=1e-9)
    assert model.sample(rows, 2, random_state=0).shape == (2, len(x))


def take_log_likelihood(density, x):
    weight = np.arange(len(x)) % 3
    logs = np.asarray(as_density(density).logpdf(x))
    assert data_log_likelihood(density, x) == pytest.approx(logs.sum())
    assert data_log_likelihood(density, x, weight) == pytest.approx((weight.T @ logs).sum())


def take_simulated_risk(density, x):
    def estimate(draws):
        return draws.mean(axis=0).ravel()[:1]

    found = simulate_risk(estimate, density, 0.0, n_samples=4, n_repeats=6, random_state=0)
    assert np.isfinite(found.estimates).all()


def take_large_samples(density, x):
    name = next(iter(as_density(density).parameters()), "none")
    study = simulate_large_samples(density, name, [60], n_repeats=40, random_state=0)
    assert study.limit > 0
    assert study.scaled_variances[0] == pytest.approx(study.limit, rel=0.9)


def take_sums(density, x):
    sums = standardised_sums(density, 10, 2000, random_state=0)
    assert (sums.mean(), sums.std()) == (pytest.approx(0.0, abs=0.15), pytest.approx(1.0, abs=0.15))


def take_fisher(density, x):
    information = fisher_information(density)
    assert (np.linalg.eigvalsh(information) >= -1e-9).all()


def take_jeffreys(density, x):
    values = [value for value in as_density(density).parameters().values() if isinstance(value, float)] or [0.5]
    assert np.isfinite(JeffreysPrior(density).logpdf(values))


def gaussian_mean(x, theta):
    return GaussianDensity(theta[0], 1.0).logpdf(x)


def take_prior(density, x):
    # The prior of one number, of the mean of a Gaussian; a start that the prior allows.
    start = float(as_density(density).sample(1, 0).ravel()[0])
    data = [start + 0.2, start - 0.1]
    found = maximum_a_posteriori(gaussian_mean, density, data, [start])
    here = found.log_likelihood + found.log_prior
    assert here >= gaussian_mean(np.array(data), [start]).sum() + as_density(density).logpdf([start]).sum() - 1e-9


def take_grid(density, x):
    start = float(as_density(density).sample(1, 0).ravel()[0])
    axis = np.linspace(start - 1.0, start + 1.0, 201)
    found = grid_posterior(lambda x, t: gaussian_mean(x, [t]), density, [start], axis)
    assert found.probabilities.sum() == pytest.approx(1.0)
    logs = gaussian_mean(np.array([start])[:, None], [axis]).ravel() + as_density(density).logpdf(axis)
    np.testing.assert_allclose(found.log_density - found.log_density.max(), logs - logs.max(), atol=1e-9)


def take_quadrature(density, x):
    start = float(as_density(density).sample(1, 0).ravel()[0])
    exact = quadrature_evidence(gaussian_mean, density, [start], [start - 0.2], [start + 0.2])
    assert np.isfinite(exact.log_value)


def take_negentropy(density, x):
    value = density_negentropy(density)
    assert np.isfinite(value)
    assert value >= 0


def take_kurtosis(density, x):
    # Of all densities the kurtosis is at least -2, that of two equal points.
    assert density_kurtosis(density) >= -2


def take_laplace(density, x):
    start = float(as_density(density).sample(1, 0).ravel()[0])
    assert np.isfinite(laplace_evidence(gaussian_mean, density, [start], [start]).log_value)


def take_monte_carlo(density, x):
    start = float(as_density(density).sample(1, 0).ravel()[0])
    assert np.isfinite(monte_carlo_evidence(gaussian_mean, density, [start], 50, random_state=0).log_value)


def take_gradient(density, x):
    slopes = log_likelihood_gradient(density, x)
    assert slopes.shape[-1] == density.score(x).shape[-1]
    # The sum of the scores of the observations, one by one.
    np.testing.assert_allclose(slopes, sum(density.score(x[i : i + 1])[0] for i in range(len(x))), rtol=1e-9, atol=1e-9)


def take_selection(density, x):
    class Known(GaussianDensity):
        def fit(self, X, sample_weight=None):
            return self

    broad = Known(0.0, 100.0)
    found = select_density({"it": density, "broad": broad}, x, cv=3, random_state=0)
    # A known density is judged by all observations, whatever the folds.
    assert found.cross_entropies[1] == pytest.approx(-log_of(broad, x.reshape(len(x), -1)).mean())
    assert found.best_name == found.names[int(np.argmin(found.cross_entropies))]


def take_as_density(density, x):
    assert isinstance(as_density(density), Density)


def take_contour(density, x):
    assert GaussianContourDisplay(density).means_.shape[1] == 2


def take_chain(density, x):
    rows = x.reshape(len(x), -1)
    template = clone(density) if isinstance(density, BaseEstimator) else density
    model = DensityHMM(1, density=template, random_state=0, n_iter=2).fit(rows)
    # One state is the density itself, fitted to all steps.
    np.testing.assert_allclose(model.score(rows), log_of(model.densities_[0], rows).sum(), rtol=1e-9)
    assert model.sample(5)[0].shape == (5, rows.shape[1])


def take_outlier(density, x):
    rows = x.reshape(len(x), -1)
    template = clone(density) if isinstance(density, BaseEstimator) else density
    model = DensityOutlier(template, contamination=0.2).fit(rows)
    wanted = log_of(as_density(template).fit(rows), rows).reshape(len(x), -1).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(rows), wanted, rtol=1e-9)
    # At most a fifth of the rows are below the threshold; equal scores leave fewer.
    assert (model.predict(rows) == -1).mean() <= 0.2


def take_running(density, x):
    running = RunningDensity(density)
    for batch in np.array_split(x, 3):
        running = running.partial_fit(batch)
    logs = np.asarray(density.fit(x).logpdf(x))
    np.testing.assert_allclose(running.logpdf(x), logs, rtol=1e-6, atol=1e-9)


def take_transformed_display(density, x):
    shifted = TransformedDensity(density, lambda t: 2 * t + 1, lambda t: (t - 1) / 2, lambda t: np.full_like(t, 2.0))
    x = np.unique(x)
    display = TransformedDensityDisplay({"shifted": shifted}, x)
    np.testing.assert_allclose(display.inputs_["shifted"], np.exp(as_density(density).logpdf(x)))


def having(accepts):
    """The names of the densities that `accepts` answers True for."""
    return {name for name, density in DENSITIES.items() if accepts(density)}


def draws(density):
    return as_density(density).sample(50, 0)


def finite_far_away(density):
    return np.isfinite(density.logpdf(np.array([-60.0, 60.0]))).all()


NUMBERS = having(lambda density: draws(density).ndim == 1)
WHOLE = having(lambda density: (np.floor(draws(density)) == draws(density)).all())
CONTINUOUS = NUMBERS - WHOLE
ON_THE_LINE = {name for name in CONTINUOUS if finite_far_away(as_density(DENSITIES[name]))}
INFORMATIVE = having(lambda one: hasattr(one, "fisher_information") and getattr(one, "_fixed_support", True))
SINGLE = INFORMATIVE & NUMBERS & having(lambda one: not any(map(np.ndim, as_density(one).parameters().values())))
SCORED = INFORMATIVE & NUMBERS & having(lambda density: hasattr(density, "score"))
WITH_MOMENTS = NUMBERS & having(lambda density: hasattr(as_density(density), "variance"))
GAUSSIAN_ROWS = having(lambda density: hasattr(density, "means_")) | (
    having(lambda density: getattr(density, "is_gaussian", False)) - NUMBERS
)
ALL = set(DENSITIES)
# What a weighted fit determines; known distributions stay what they are.
FITTED = set(OWN) - having(lambda density: isinstance(density, MixtureDensity | TransformedDensity))
SMOOTH = {"scipy frozen"} | {f"estimation.{name}Density" for name in ("Gaussian", "Laplace", "Exponential", "Uniform")}
RUNNING = {f"estimation.{name}Density" for name in ("Gaussian", "Exponential", "Uniform", "Poisson", "Geometric")}
# The call of each consumer, and the densities for which it must give the right answer; for others it may say no.
RECIPES = {
    "decomposition.density_kurtosis": (take_kurtosis, SMOOTH),
    "decomposition.density_negentropy": (take_negentropy, SMOOTH),
    "estimation.as_density": (take_as_density, ALL),
    "decision.ClassDensities": (take_class_densities, ALL),
    "discriminant_analysis.ClassConditionalClassifier": (take_class_conditional, ALL),
    "estimation.MixtureDensity": (take_mixture, ALL),
    "estimation.data_log_likelihood": (take_log_likelihood, ALL),
    "estimation.simulate_risk": (take_simulated_risk, ALL),
    "estimation.select_density": (take_selection, ALL),
    "estimation.log_likelihood_gradient": (take_gradient, SCORED),
    "estimation.IndependentDensity": (take_independent, NUMBERS),
    "estimation.TransformedDensity": (take_transformed, NUMBERS),
    "estimation.GenerativeRegression": (take_generative, CONTINUOUS),
    "estimation.fisher_information": (take_fisher, INFORMATIVE),
    "estimation.JeffreysPrior": (take_jeffreys, SINGLE),
    "estimation.simulate_large_samples": (take_large_samples, SINGLE),
    "estimation.standardised_sums": (take_sums, WITH_MOMENTS),
    "estimation.maximum_a_posteriori": (take_prior, CONTINUOUS),
    "estimation.grid_posterior": (take_grid, CONTINUOUS),
    "estimation.quadrature_evidence": (take_quadrature, CONTINUOUS),
    "estimation.laplace_evidence": (take_laplace, ON_THE_LINE),
    "estimation.monte_carlo_evidence": (take_monte_carlo, NUMBERS),
    "hmm.DensityHMM": (take_chain, FITTED),
    "outliers.DensityOutlier": (take_outlier, FITTED),
    "estimation.RunningDensity": (take_running, RUNNING),
    "inspection.TransformedDensityDisplay": (take_transformed_display, CONTINUOUS),
    "inspection.GaussianContourDisplay": (take_contour, GAUSSIAN_ROWS),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("consumer", RECIPES)
def test_every_density_in_every_place(consumer, name):
    take, wanted = RECIPES[consumer]
    density = DENSITIES[name]
    x = as_density(density).sample(60, 7)
    if name in wanted:
        take(density, x)
        return
    # It may say in words that it does not take this density, as scikit-learn's checks of rows do, and there may be no
    # truth to compare with. Errors of the interpreter or of linear algebra would not be an answer.
    with contextlib.suppress(ValueError, AssertionError):
        take(density, x)
