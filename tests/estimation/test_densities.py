"""Densities: they integrate to one, are fitted by maximum likelihood, and say so where data do not fit."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, expit, logit

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BernoulliDensity,
    BetaDensity,
    BinomialDensity,
    CategoricalDensity,
    Density,
    ExponentialDensity,
    GammaDensity,
    GaussianDensity,
    GeometricDensity,
    IndependentDensity,
    LaplaceDensity,
    MixtureDensity,
    MultivariateGaussianDensity,
    PoissonDensity,
    TransformedDensity,
    UniformDensity,
    data_log_likelihood,
    integrate_box,
    log_likelihood_gradient,
)

CONTINUOUS = [
    (GaussianDensity(1.0, 4.0), stats.norm(1.0, 2.0), -20, 22),
    (LaplaceDensity(1.0, 2.0), stats.laplace(1.0, 2.0), -60, 60),
    (UniformDensity(-1.0, 3.0), stats.uniform(-1.0, 4.0), -1, 3),
    (ExponentialDensity(0.5), stats.expon(scale=2.0), 0, 80),
    (GammaDensity(3.0, 2.0), stats.gamma(3.0, scale=0.5), 0, 40),
    (BetaDensity(2.0, 3.0), stats.beta(2.0, 3.0), 0, 1),
]
DISCRETE = [
    (BernoulliDensity(0.3), stats.bernoulli(0.3)),
    (BinomialDensity(0.3, 7), stats.binom(7, 0.3)),
    (GeometricDensity(0.4), stats.geom(0.4, loc=-1)),
    (PoissonDensity(2.5), stats.poisson(2.5)),
]
FITTED = [one for one, *_ in (*CONTINUOUS, *DISCRETE)]


@pytest.mark.catalogue("PE-14")
@pytest.mark.parametrize(("density", "reference", "low", "high"), CONTINUOUS, ids=lambda one: type(one).__name__)
def test_continuous_densities_integrate_to_one_and_agree_with_scipy(density, reference, low, high):
    assert integrate_box(lambda x: np.exp(density.logpdf(x[:, 0])), [low], [high]).value == pytest.approx(1.0, abs=1e-7)
    x = np.linspace(low + 0.01, high - 0.01, 50)
    np.testing.assert_allclose(density.logpdf(x), reference.logpdf(x), rtol=1e-10, atol=1e-12)
    assert (density.mean, density.variance) == pytest.approx((reference.mean(), reference.var()))


@pytest.mark.catalogue("DT-05")
@pytest.mark.parametrize(("density", "reference"), DISCRETE, ids=lambda one: type(one).__name__)
def test_discrete_densities_sum_to_one_and_agree_with_scipy(density, reference):
    k = np.arange(0, 200)
    assert np.exp(density.logpdf(k)).sum() == pytest.approx(1.0)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(density.logpdf(k[:20]), np.log(reference.pmf(k[:20])), rtol=1e-10)
    assert (density.mean, density.variance) == pytest.approx((reference.mean(), reference.var()))


@pytest.mark.catalogue("DT-05")
def test_bernoulli_rows_sum_to_one_over_all_inputs():
    p = np.array([0.2, 0.7, 0.5])
    rows = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    density = IndependentDensity(BernoulliDensity(p))
    assert np.exp(density.logpdf(rows)).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.exp(density.logpdf(rows)), np.prod(p * rows + (1 - p) * (1 - rows), axis=1))


@pytest.mark.catalogue("PE-02")
@pytest.mark.parametrize("density", FITTED, ids=lambda one: type(one).__name__)
def test_fits_are_most_likely_and_weights_are_repetitions(density):
    x = density.sample(500, random_state=0)
    fitted = density.fit(x)
    best = data_log_likelihood(fitted, x)
    for name in fitted._ranges:
        if name == "trials" or isinstance(density, UniformDensity):
            continue
        for factor in (0.97, 1.03):
            nudged = type(density)(**{**vars(fitted), name: getattr(fitted, name) * factor})
            assert data_log_likelihood(nudged, x) <= best + 1e-9
    weight = np.arange(500) % 3
    weighted, repeated = density.fit(x, weight), density.fit(x.repeat(weight))
    for name in fitted._ranges:
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-10)


@pytest.mark.catalogue("PE-04")
@pytest.mark.parametrize(
    "density", [one for one in (*FITTED, BetaDensity(2.0, 3.0)) if not isinstance(one, UniformDensity)]
)
def test_scores_are_derivatives_of_the_log_density(density):
    x = density.sample(20, random_state=1)
    for column, name in enumerate(density._ranges):
        if name == "trials":
            continue
        value, h = getattr(density, name), 1e-6
        up, down = (type(density)(**{**vars(density), name: value + s * h}).logpdf(x) for s in (1, -1))
        np.testing.assert_allclose(density.score(x)[:, column], (up - down) / (2 * h), rtol=1e-6, atol=1e-7)


@pytest.mark.catalogue("PE-04")
def test_the_score_of_a_gaussian_is_the_corrected_one_and_vanishes_at_its_fit():
    x = np.array([0.5, 2.0, -1.0, 4.0])
    density = GaussianDensity(1.0, 3.0)
    np.testing.assert_allclose(density.score(x)[:, 1], (x - 1) ** 2 / (2 * 9) - 1 / 6)
    fitted = GaussianDensity().fit(x)
    assert (fitted.mean, fitted.variance) == (pytest.approx(x.mean()), pytest.approx(x.var()))
    np.testing.assert_allclose(fitted.score(x).sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.catalogue("PE-05")
@pytest.mark.parametrize(("data", "theta"), [([0, 2], 1 / 2), ([0, 2, 0, 1], 4 / 7), ([0, 2, 0, 2, 0, 1], 6 / 11)])
def test_the_geometric_example(data, theta):
    assert GeometricDensity().fit(data).probability == pytest.approx(theta)


@pytest.mark.catalogue("PE-01")
def test_log_likelihoods_add_up_and_do_not_underflow():
    density = GaussianDensity(0.0, 1.0)
    x = density.sample(100_000, random_state=0)
    whole = data_log_likelihood(density, x)
    assert np.isfinite(whole)
    assert np.exp(whole) == 0.0
    assert whole == pytest.approx(data_log_likelihood(density, x[:300]) + data_log_likelihood(density.logpdf, x[300:]))
    assert data_log_likelihood(density, x[:3], [2, 0, 1]) == pytest.approx(data_log_likelihood(density, x[[0, 0, 2]]))


@pytest.mark.catalogue("PE-01")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_log_likelihoods_and_their_gradients_are_those_of_scipy_and_of_closed_forms_in_any_unit(unit):
    """The sum over 10^5 observations to the last digits, and its derivatives by Euler's digamma function."""
    random = np.random.default_rng(0)
    shape, rate = 2.5, 0.7 / unit
    x = random.gamma(shape, 1 / rate, 100_000)
    logs = stats.gamma(shape, scale=1 / rate).logpdf(x)
    density = GammaDensity(shape, rate)
    # Units change each term by a logarithm: fsum has no rounding at all.
    assert data_log_likelihood(density, x) == pytest.approx(math.fsum(logs), rel=1e-12)
    parts = [data_log_likelihood(density, x[start : start + 17_000]) for start in range(0, 100_000, 17_000)]
    assert math.fsum(parts) == pytest.approx(math.fsum(logs), rel=1e-12)
    n = len(x)
    known = [n * (np.log(rate) - digamma(shape)) + np.log(x).sum(), n * shape / rate - x.sum()]
    np.testing.assert_allclose(log_likelihood_gradient(density, x), known, rtol=1e-8, atol=1e-9 * n * unit)
    y = unit * random.normal(size=1000)
    m, v = 0.3 * unit, 2.0 * unit**2
    gaussian = GaussianDensity(m, v)
    assert data_log_likelihood(gaussian, y) == pytest.approx(math.fsum(stats.norm(m, v**0.5).logpdf(y)), rel=1e-12)
    known = [(y - m).sum() / v, ((y - m) ** 2).sum() / (2 * v**2) - 500 / v]
    np.testing.assert_allclose(log_likelihood_gradient(gaussian, y), known, rtol=1e-9)


@pytest.mark.catalogue("PE-01")
def test_gradients_of_counts_and_shares_and_of_densities_of_rows_are_in_closed_form():
    random = np.random.default_rng(1)
    counts, shares, weight = random.poisson(3.0, 50), random.beta(2.0, 3.0, 50), random.integers(0, 4, 50)
    total = weight.sum()
    np.testing.assert_allclose(
        log_likelihood_gradient(PoissonDensity(2.2), counts, sample_weight=weight), [weight @ counts / 2.2 - total]
    )
    known = [
        weight @ np.log(shares) - total * (digamma(2.5) - digamma(4.0)),
        weight @ np.log1p(-shares) - total * (digamma(1.5) - digamma(4.0)),
    ]
    np.testing.assert_allclose(log_likelihood_gradient(BetaDensity(2.5, 1.5), shares, sample_weight=weight), known)
    # Rows: the sum of SciPy's multivariate log-densities, and -C^-1 (m - mean) by the mean.
    rows, C = random.normal(size=(40, 3)), np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])
    m = np.array([0.1, -0.2, 0.4])
    whole = data_log_likelihood(MultivariateGaussianDensity(m, C), rows)
    assert whole == pytest.approx(stats.multivariate_normal(m, C).logpdf(rows).sum(), rel=1e-12)
    by_mean = log_likelihood_gradient(lambda x, t: stats.multivariate_normal(t, C).logpdf(x), rows, m)
    np.testing.assert_allclose(by_mean, np.linalg.solve(C, (rows - m).sum(axis=0)), rtol=1e-6, atol=1e-6)


@pytest.mark.catalogue("PE-01")
@pytest.mark.parametrize("density", [one for one in FITTED if not isinstance(one, UniformDensity)])
def test_gradients_of_the_log_likelihood_are_those_of_differences_and_vanish_at_the_fit(density):
    x = density.sample(60, random_state=3)
    weight = np.arange(60) % 4
    names = list(density.parameters())

    def value(theta, weight=weight):
        moved = type(density)(**{**vars(density), **dict(zip(names, theta, strict=True))})
        return data_log_likelihood(moved, x, weight)

    here = np.array([float(value) for value in density.parameters().values()])
    steps = 1e-5 * np.eye(len(here))
    wanted = [(value(here + step) - value(here - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(log_likelihood_gradient(density, x, sample_weight=weight), wanted, rtol=2e-4, atol=2e-4)
    # The gradient of two data sets is the sum of theirs.
    parts = log_likelihood_gradient(density, x[:25]) + log_likelihood_gradient(density, x[25:])
    np.testing.assert_allclose(log_likelihood_gradient(density, x), parts, rtol=1e-9)
    # Maximum likelihood: the gradient is zero, but for the median of a Laplace density, where it changes its sign.
    slope = log_likelihood_gradient(density.fit(x, weight), x, sample_weight=weight)
    if not isinstance(density, LaplaceDensity):
        np.testing.assert_allclose(slope, 0.0, atol=1e-6 * weight.sum())


@pytest.mark.catalogue("PE-01")
def test_a_supplied_score_and_differences_give_one_gradient_at_any_size():
    x = np.random.default_rng(0).normal(1.0, 2.0, 100_000)

    def log_density(x, theta):
        return -0.5 * ((x - theta[0]) / theta[1]) ** 2 - np.log(theta[1])

    def score(x, theta):
        z = (x - theta[0]) / theta[1]
        return np.stack([z / theta[1], (z**2 - 1) / theta[1]], axis=1)

    by_score = log_likelihood_gradient(log_density, x, [0.5, 1.5], score=score)
    np.testing.assert_allclose(log_likelihood_gradient(log_density, x, [0.5, 1.5]), by_score, rtol=1e-6)
    exact = [(x - 0.5).sum() / 1.5**2, (((x - 0.5) / 1.5) ** 2 - 1).sum() / 1.5]
    np.testing.assert_allclose(by_score, exact, rtol=1e-10)
    with pytest.raises(DataError, match="has no score by its parameters"):
        log_likelihood_gradient(MixtureDensity([GaussianDensity()], [1.0]), x[:3])


@pytest.mark.catalogue("PE-04")
def test_the_unbiased_variance_is_right_on_average_over_all_samples_and_the_most_likely_one_is_not():
    # All 4^3 samples of three draws from four equally likely values: an expectation without any simulation.
    values = np.array([-1.0, 0.5, 2.0, 7.0])
    samples = [np.array(s) for s in itertools.product(values, repeat=3) if len(set(s)) > 1]
    count = 4**3  # samples of one value have variance zero and no density
    truth = values.var()
    for ddof, factor in ((0, 2 / 3), (1, 1.0)):
        mean = sum(GaussianDensity(ddof=ddof).fit(sample).variance for sample in samples) / count
        assert mean == pytest.approx(factor * truth)
        rows = [np.column_stack([sample, -2 * sample]) for sample in samples]
        density = MultivariateGaussianDensity.standard(2, ddof=ddof, regularization=1e-3)
        matrices = sum(density.fit(row).covariance - 1e-3 * np.eye(2) for row in rows) / count
        np.testing.assert_allclose(matrices, factor * truth * np.array([[1.0, -2.0], [-2.0, 4.0]]), atol=1e-9)
    # Weights are repetitions, also in n - 1; the option stays with the density and is no parameter.
    weighted = GaussianDensity(ddof=1).fit([1.0, 4.0], [2, 3])
    assert weighted.variance == pytest.approx(np.var([1, 1, 4, 4, 4], ddof=1))
    assert weighted.ddof == 1
    assert list(weighted.parameters()) == ["mean", "variance"]
    with pytest.raises(DataError, match="needs total weight above 1; got 1"):
        GaussianDensity(ddof=1).fit([2.0])


def test_parameters_broadcast_over_many_variables_and_samples_follow_the_density():
    many = PoissonDensity(np.array([1.0, 5.0, 20.0]))
    x = many.sample(20_000, random_state=0)
    assert x.shape == (20_000, 3)
    np.testing.assert_allclose(PoissonDensity().fit(x).rate, [1.0, 5.0, 20.0], rtol=0.03)
    assert many.logpdf(x[:5]).shape == (5, 3)
    three = CategoricalDensity([0.2, 0.5, 0.3])
    np.testing.assert_allclose(
        three.fit(three.sample(50_000, random_state=0)).probabilities, [0.2, 0.5, 0.3], atol=0.01
    )
    groups = CategoricalDensity([[0.2, 0.8], [0.5, 0.5]])
    np.testing.assert_allclose(np.exp(groups.logpdf([[1, 0]])), [[0.8, 0.5]])
    assert (three.sample(10, random_state=3) == three.sample(10, random_state=3)).all()


def test_mixtures_and_products_are_densities():
    mixture = MixtureDensity([GaussianDensity(-3.0, 1.0), GaussianDensity(3.0, 1.0)], [0.3, 0.7])
    assert integrate_box(lambda x: np.exp(mixture.logpdf(x[:, 0])), [-20.0], [20.0]).value == pytest.approx(1.0)
    x = mixture.sample(50_000, random_state=0)
    assert (x > 0).mean() == pytest.approx(0.7, abs=0.01)
    product = IndependentDensity(GaussianDensity(np.array([0.0, 5.0]), 1.0))
    both = MultivariateGaussianDensity([0.0, 5.0], np.eye(2))
    np.testing.assert_allclose(product.logpdf([[1.0, 4.0]]), both.logpdf([[1.0, 4.0]]))
    for density in (mixture, product, both, GaussianDensity()):
        assert isinstance(density, Density)


@pytest.mark.catalogue("PL-35")
@pytest.mark.parametrize("slope", [0.5, 1.5, 4.0])
def test_a_density_keeps_its_area_through_a_sigmoid(slope):
    inner = GaussianDensity(0.0, slope**2)
    squeezed = TransformedDensity(inner, expit, logit, lambda x: expit(x) * expit(-x))
    total = integrate_box(lambda y: np.exp(squeezed.logpdf(y[:, 0])), [0.0], [1.0], tol=1e-6)
    assert total.value == pytest.approx(1.0, abs=1e-4)
    y = squeezed.sample(40_000, random_state=0)
    expected = integrate_box(lambda y: np.exp(squeezed.logpdf(y[:, 0])), [0.0], [0.2], tol=1e-6).value
    assert (y < 0.2).mean() == pytest.approx(expected, abs=0.01)
    again = squeezed.fit(y)
    assert again.density.variance == pytest.approx(slope**2, rel=0.03)


def test_observations_outside_the_support_have_no_density_and_cannot_be_fitted():
    assert PoissonDensity(1.0).logpdf([-1, 0.5]).tolist() == [-np.inf, -np.inf]
    assert BinomialDensity(0.5, 3).logpdf(4) == -np.inf
    assert np.isnan(GaussianDensity().logpdf(np.nan))
    with pytest.raises(DataError, match=r"PoissonDensity: observations must be whole numbers in \[0, inf\]; got -1\."):
        PoissonDensity().fit([3, -1])
    with pytest.raises(DataError, match=r"CategoricalDensity: observations must be whole numbers"):
        CategoricalDensity([0.5, 0.5]).fit([0, 2])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GaussianDensity(0.0, 0.0), r"GaussianDensity: variance must be in \(0, inf\); got 0\."),
        (lambda: GeometricDensity(1.5), r"GeometricDensity: probability must be in \[0, 1\]; got 1\.5\."),
        (lambda: BinomialDensity(0.5, 2.5), "BinomialDensity: trials must be whole numbers; got 2.5"),
        (lambda: UniformDensity(1.0, 1.0), "UniformDensity: high must be above low"),
        (lambda: CategoricalDensity([0.5, 0.6]), "CategoricalDensity: probabilities must sum to 1"),
        (lambda: MixtureDensity([GaussianDensity()], [0.5]), "MixtureDensity: weights must sum to 1"),
        (lambda: GaussianDensity().fit([1e300, -1e300]), r"variance must be in \(0, inf\); got inf"),
        (lambda: MultivariateGaussianDensity([0.0], [[np.inf]]), "covariance must be finite"),
        (lambda: GammaDensity("wide"), "GammaDensity: concentration must hold numbers; got 'wide'"),
    ],
)
def test_parameters_out_of_range_are_refused(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda: GaussianDensity().fit([2.0, 2.0]), "the variance of constant observations is zero"),
        (lambda: GaussianDensity().fit([]), "fit needs at least one observation"),
        (lambda: ExponentialDensity().fit([0.0]), "all zero"),
        (lambda: GammaDensity().fit([1.0, 0.0]), "must be positive and not all equal"),
        (lambda: GaussianDensity().fit([1.0, 2.0], [1.0]), "one entry per observation, 2"),
        (lambda: GaussianDensity().fit([1.0, 2.0], [-1.0, 1.0]), r"sample_weight must be in \[0, inf\]; got -1"),
        (lambda: IndependentDensity(GaussianDensity()).fit([1.0, 2.0]), "rows must be a matrix"),
    ],
)
def test_data_without_a_maximum_are_refused(fit, words):
    with pytest.raises(DataError, match=words):
        fit()


def test_a_transformed_density_is_zero_where_the_function_does_not_reach():
    log_normal = TransformedDensity(GaussianDensity(0.2, 0.5), np.exp, np.log, np.exp)
    x = np.array([-3.0, 0.5, 2.0, np.nan])
    wanted = stats.lognorm(np.sqrt(0.5), scale=np.exp(0.2)).logpdf(x)
    np.testing.assert_allclose(log_normal.logpdf(x), wanted)
    assert log_normal.logpdf(-3.0) == -np.inf
