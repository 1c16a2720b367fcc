"""Conjugate beliefs: posteriors, predictions, evidence, for one group and for a million."""

from fractions import Fraction

import numpy as np
import pytest

from mercer.decision import ClassDensities, posterior
from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BetaBernoulli,
    BetaBinomial,
    BetaGeometric,
    DirichletCategorical,
    GammaExponential,
    GammaPoisson,
    GaussianMean,
    GaussianVectorMean,
    GeometricDensity,
    IndependentDensity,
    integrate_box,
    quadrature_evidence,
)

ONE, TWO = [0, 2], [0, 2, 0, 1]
FAMILIES = [
    (BetaBernoulli(2.0, 3.0), [1, 0, 1, 1], (0, 1)),
    (BetaBinomial(2.0, 3.0, 5), [1, 0, 4, 3], (0, 1)),
    (BetaGeometric(2.0, 3.0), [1, 0, 4, 3], (0, 1)),
    (GammaPoisson(2.0, 3.0), [1, 0, 4, 3], (0, 30)),
    (GammaExponential(2.0, 3.0), [0.5, 0.1, 2.0], (0, 30)),
    (GaussianMean(1.0, 2.0, 0.5), [0.5, 0.1, 2.0], (-20, 20)),
]
KINDS = [type(one[0]).__name__ for one in FAMILIES]


def frac(value):
    return Fraction(float(value)).limit_denominator(100_000)


@pytest.mark.catalogue("PE-07")
def test_uniform_priors_of_the_geometric_example():
    first, second = (BetaGeometric().update(data) for data in (ONE, TWO))
    assert (first.a, first.b, second.a, second.b) == (3, 3, 5, 4)
    theta = np.linspace(0.01, 0.99, 30)
    np.testing.assert_allclose(np.exp(first.logpdf(theta)), 30 * theta**2 * (1 - theta) ** 2)
    np.testing.assert_allclose(np.exp(second.logpdf(theta)), 280 * theta**4 * (1 - theta) ** 3)
    assert [frac(np.exp(BetaGeometric().log_evidence(data))) for data in (ONE, TWO)] == [
        Fraction(1, 30),
        Fraction(1, 280),
    ]
    assert [frac(one.mean) for one in (first, second)] == [Fraction(1, 2), Fraction(5, 9)]
    assert [frac(one.mode) for one in (first, second)] == [Fraction(1, 2), Fraction(4, 7)]
    assert [frac(one.variance) for one in (first, second)] == [Fraction(1, 28), Fraction(2, 81)]
    assert first.mode == pytest.approx(GeometricDensity().fit(ONE).probability)


@pytest.mark.catalogue("PE-07")
def test_bernoulli_data_count_successes_and_failures():
    after = BetaBernoulli(1, 1).update([1, 1, 0])
    assert (after.a, after.b) == (3, 2)


@pytest.mark.catalogue("PE-08")
def test_predictive_probabilities_of_the_geometric_example():
    first, second = (BetaGeometric().update(data) for data in (ONE, TWO))
    k = np.arange(4)
    assert [frac(p) for p in np.exp(first.log_predictive(k))] == [
        Fraction(*pair) for pair in ((1, 2), (3, 14), (3, 28), (5, 84))
    ]
    assert [frac(p) for p in np.exp(second.log_predictive(k))] == [
        Fraction(*pair) for pair in ((5, 9), (2, 9), (10, 99), (5, 99))
    ]
    assert np.exp(first.log_predictive(np.arange(200_000))).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.catalogue("PE-06", "PE-09")
def test_plug_in_and_bayesian_classifiers_disagree_at_one():
    plug = ClassDensities([GeometricDensity().fit(ONE), GeometricDensity().fit(TWO)], [0.5, 0.5])
    bayes = ClassDensities([BetaGeometric().predictive().fit(data) for data in (ONE, TWO)], [0.5, 0.5])
    k = np.arange(8)
    assert plug.decide(k).tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert bayes.decide(k).tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(np.exp(plug.log_joint([1]))[0], [1 / 8, 0.122449 / 1], atol=5e-7)
    assert plug.posterior([1])[0, 0] == pytest.approx(49 / 97)
    assert bayes.posterior([1])[0, 0] == pytest.approx(27 / 55)
    assert posterior([[3 / 14, 2 / 9]], [0.5, 0.5])[0, 0] == pytest.approx(0.490909, abs=5e-7)


@pytest.mark.catalogue("PE-09")
def test_predictive_densities_of_rows_are_products_over_columns():
    rows = np.array([[0, 3], [2, 1], [0, 0]])
    fitted = IndependentDensity(BetaGeometric().predictive()).fit(rows)
    columns = [BetaGeometric().predictive().fit(rows[:, i]) for i in range(2)]
    expected = sum(one.logpdf(rows[:, i]) for i, one in enumerate(columns))
    np.testing.assert_allclose(fitted.logpdf(rows), expected)
    assert fitted.sample(4, random_state=0).shape == (4, 2)


@pytest.mark.catalogue("PE-10")
def test_the_posterior_of_a_gaussian_mean():
    prior = GaussianMean(0.0, 1.0, noise=4.0)
    after = prior.update([3.0] * 8)
    assert (after.location, after.spread, after.predictive_variance) == pytest.approx((2.0, 1 / 3, 13 / 3))
    for n in (1, 5, 100):
        x = np.random.default_rng(n).normal(3.0, 2.0, size=n)
        now = prior.update(x)
        assert now.spread <= min(4.0 / n, 1.0)
        assert min(0.0, x.mean()) <= now.location <= max(0.0, x.mean())
    empty = prior.update([])
    assert (empty.location, empty.spread) == (0.0, 1.0)
    many = prior.update(np.full(10**6, 3.0))
    assert many.location == pytest.approx(3.0, abs=1e-4)


@pytest.mark.catalogue("PE-11")
def test_the_posterior_of_a_mean_vector():
    random = np.random.default_rng(0)
    noise, spread = (a @ a.T + np.eye(3) for a in random.normal(size=(2, 3, 3)))
    prior = GaussianVectorMean([1.0, 0.0, -1.0], spread, noise)
    X = random.normal(size=(7, 3))
    after = prior.update(X)
    precision = 7 * np.linalg.inv(noise) + np.linalg.inv(spread)
    np.testing.assert_allclose(np.linalg.inv(after.spread), precision)
    shifted = 7 * np.linalg.solve(noise, X.mean(axis=0)) + np.linalg.solve(spread, prior.location)
    np.testing.assert_allclose(precision @ after.location, shifted)
    for wider in (noise / 7, spread):
        assert np.linalg.eigvalsh(wider - after.spread).min() > 0
    one = GaussianVectorMean([0.0], [[1.0]], [[4.0]]).update([[3.0]] * 8)
    assert (one.location[0], one.spread[0, 0]) == pytest.approx((2.0, 1 / 3))
    steps = prior.update(X[:3]).update(X[3:])
    np.testing.assert_allclose(steps.location, after.location)
    chain = sum(prior.update(X[:i]).log_predictive(X[i : i + 1])[0] for i in range(7))
    assert prior.log_evidence(X) == pytest.approx(chain)
    assert prior.predictive().fit(X).sample(5, random_state=0).shape == (5, 3)


@pytest.mark.parametrize(("prior", "data", "limits"), FAMILIES, ids=KINDS)
def test_sequential_updates_are_the_batch_update_and_predictions_multiply_to_the_evidence(prior, data, limits):
    batch, steps, chain = prior.update(data), prior, 0.0
    for x in data:
        chain += float(steps.log_predictive(x))
        steps = steps.update([x])
    for name in prior._ranges:
        assert getattr(steps, name) == pytest.approx(getattr(batch, name))
    assert prior.log_evidence(data) == pytest.approx(chain)
    assert prior.predictive().fit(data).logpdf(data[0]) == pytest.approx(batch.log_predictive(data[0]))
    weighted = prior.update(data, np.arange(len(data)))
    repeated = prior.update(np.repeat(data, np.arange(len(data))))
    assert float(weighted.mean) == pytest.approx(float(repeated.mean))


@pytest.mark.catalogue("PE-22")
@pytest.mark.parametrize(("prior", "data", "limits"), FAMILIES, ids=KINDS)
def test_evidence_and_posterior_are_what_quadrature_finds(prior, data, limits):
    def logpdf(x, theta):
        return prior._density(float(theta[0])).logpdf(x)

    found = quadrature_evidence(logpdf, prior, data, [limits[0]], [limits[1]])
    assert prior.log_evidence(data) == pytest.approx(found.log_value, abs=1e-7)
    after = prior.update(data)

    def moment(k):
        def density(t):
            return np.exp(after.logpdf(t[:, 0])) * t[:, 0] ** k

        return integrate_box(density, [limits[0]], [limits[1]]).value

    assert float(after.mean) == pytest.approx(moment(1), rel=1e-7)
    assert float(after.variance) == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-6)


@pytest.mark.parametrize(("prior", "data", "limits"), FAMILIES, ids=KINDS)
def test_predictive_samples_follow_the_prediction(prior, data, limits):
    belief = prior.update(data)
    drawn = belief.predictive().sample(100_000, random_state=0)
    assert drawn.shape == (100_000,)
    expected = float(np.mean(belief._density(belief.sample(100_000, random_state=1)).mean))
    assert drawn.mean() == pytest.approx(expected, abs=6 * drawn.std() / np.sqrt(100_000))


def test_a_million_groups_are_updated_at_once():
    random = np.random.default_rng(0)
    n = 1_000_000
    groups, x = random.integers(0, n, 3 * n), random.integers(0, 5, 3 * n)
    beliefs = GammaPoisson(2.0, 1.0).update_groups(x, groups, n)
    chosen = [0, 17, n - 1]
    for group in chosen:
        alone = GammaPoisson(2.0, 1.0).update(x[groups == group])
        assert (beliefs.concentration[group], beliefs.rate[group]) == (alone.concentration, alone.rate)
    again = beliefs.update(np.ones((2, n)))
    np.testing.assert_array_equal(again.rate, beliefs.rate + 2)
    table = DirichletCategorical(np.ones(5)).update_groups(x, groups, n)
    assert table.mean.shape == (n, 5)
    np.testing.assert_array_equal(
        table.concentration[17], DirichletCategorical(np.ones(5)).update(x[groups == 17]).concentration
    )


def test_dirichlet_beliefs_agree_with_beta_ones():
    two, one = DirichletCategorical([3.0, 2.0]), BetaBernoulli(2.0, 3.0)
    data = [1, 0, 1, 1]
    assert two.log_evidence(data) == pytest.approx(one.log_evidence(data))
    np.testing.assert_allclose(two.update(data).mean[1], one.update(data).mean)
    np.testing.assert_allclose(two.update(data).variance[1], one.update(data).variance)
    np.testing.assert_allclose(two.update(data).mode[1], one.update(data).mode)
    np.testing.assert_allclose(two.logpdf([[0.3, 0.7]]), one.logpdf([0.7]))
    np.testing.assert_allclose(two.log_predictive([0, 1]), one.log_predictive([0, 1]))
    assert two.sample(4, random_state=0).sum(axis=1) == pytest.approx(np.ones(4))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (
            lambda: BetaGeometric().update([-1]),
            r"observations must be whole numbers in \[0, inf\]; got -1",
        ),
        (lambda: BetaBinomial(trials=3).update([4]), "BetaBinomial: observations must be whole numbers"),
        (lambda: GaussianMean().update([np.nan]), "GaussianMean: observations must be finite numbers"),
        (lambda: GammaPoisson().update(3), "observations lie along the first axis; got a single number"),
        (lambda: GammaPoisson().update_groups([1, 2], [0]), "groups must be one non-negative integer"),
        (lambda: GammaPoisson().update_groups([1, 2], [0, 5], 3), "groups must be below n_groups=3; got 5"),
        (lambda: DirichletCategorical([1, 1]).update_sums(1, 2), "needs a count for each category"),
        (lambda: GaussianVectorMean([0, 0], np.eye(2), np.eye(2)).update([[1.0]]), "rows must have 2 columns; got 1"),
    ],
)
def test_observations_outside_the_support_are_refused(act, words):
    with pytest.raises(DataError, match=words):
        act()


def test_improper_priors_are_refused():
    with pytest.raises(ParameterError, match=r"BetaGeometric: a must be in \(0, inf\); got 0\."):
        BetaGeometric(0.0, 1.0)
    with pytest.raises(ParameterError, match=r"GaussianMean: spread must be in \(0, inf\); got inf\."):
        GaussianMean(0.0, np.inf)
    with pytest.raises(ParameterError, match=r"concentration must have one entry for each category"):
        DirichletCategorical(1.0)
