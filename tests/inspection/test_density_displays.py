"""Displays of densities, of learning and of annealing: drawn data equal the model's numbers and known truths."""

import re

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.pipeline import make_pipeline

from mercer.cluster import SoftKMeans, pairwise_cost
from mercer.errors import DataError
from mercer.estimation import (
    BetaDensity,
    GammaDensity,
    GaussianDensity,
    GaussianMean,
    GenerativeRegression,
    LaplaceDensity,
    TransformedDensity,
    james_stein,
    simulate_risk,
)
from mercer.inspection import (
    AnnealedCentresDisplay,
    EpochCurveDisplay,
    EvidenceDisplay,
    FittedCurvesDisplay,
    GenerativeRegressionDisplay,
    JamesSteinDisplay,
    MeanFieldDisplay,
    OptimalPredictionDisplay,
    TransformedDensityDisplay,
)
from mercer.linear_model import LinearRegression, LogisticRegression
from mercer.neural_network import MLPClassifier
from mercer.optim import MaxIter, NoImprovement, minimize
from mercer.preprocessing import PolynomialBasis
from mercer.watch import EarlyStopping as ScoreStopping

matplotlib = pytest.importorskip("matplotlib", reason="the displays draw with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.catalogue("PL-13")
@pytest.mark.parametrize(("d", "variance"), [(3, 4.0), (25, 0.1)])
def test_the_curve_of_james_and_stein_is_below_that_of_the_mean_and_is_what_simulation_finds(d, variance):
    display = JamesSteinDisplay.from_dimension(d, variance)
    assert (display.line_.get_ydata() < display.mean_line_.get_ydata()).all()
    np.testing.assert_allclose(display.mean_line_.get_ydata(), d * variance)
    place = 60
    truth = np.full(d, display.norms_[place] / np.sqrt(d))
    risk = simulate_risk(
        lambda x: james_stein(x, variance, positive=False),
        GaussianDensity(truth, variance),
        truth,
        n_samples=1,
        n_repeats=3000,
        random_state=0,
    )
    assert display.line_.get_ydata()[place] == pytest.approx(risk.mean_squared_error, abs=5 * risk.standard_error)


@pytest.mark.catalogue("PL-14")
def test_polynomials_of_several_orders_are_drawn_over_their_data():
    random = np.random.default_rng(0)
    x = random.uniform(2.0, 9.0, size=(25, 1))
    truth = lambda x: 0.1 * x[:, 0] ** 2 - x[:, 0]  # noqa: E731
    y = truth(x) + 0.1 * random.normal(size=25)
    models = {
        f"order {k}": make_pipeline(PolynomialBasis(k, basis="orthonormal"), LinearRegression()) for k in (1, 2, 5)
    }
    display = FittedCurvesDisplay.from_estimators(models, x, y, truth=truth)
    for k, line in zip((1, 2, 5), display.lines_, strict=True):
        at = line.get_xdata()
        exact = np.polynomial.Polynomial.fit(x[:, 0], y, k)
        np.testing.assert_allclose(line.get_ydata(), exact(at), rtol=1e-6, atol=1e-6)
        error = np.mean((exact(x[:, 0]) - y) ** 2)
        assert line.get_label() == f"order {k}: {error:.2g}"
    assert display.errors["order 1"] > display.errors["order 2"] > display.errors["order 5"]
    np.testing.assert_array_equal(np.asarray(display.points_.get_offsets()), np.column_stack([x[:, 0], y]))
    np.testing.assert_allclose(display.truth_line_.get_ydata(), truth(display.grid[:, None]))
    assert display.grid[0] < x.min() < x.max() < display.grid[-1]


@pytest.mark.catalogue("PL-22")
def test_the_mark_is_at_the_least_validation_loss_of_a_run():
    random = np.random.default_rng(2)
    X, X_val = random.normal(size=(25, 20)), random.normal(size=(200, 20))
    y, y_val = X[:, 0] + random.normal(size=25), X_val[:, 0] + random.normal(size=200)
    watch = NoImprovement(lambda w: 0.5 * np.mean((X_val @ w - y_val) ** 2), patience=15)
    result = minimize(
        lambda w: 0.5 * np.mean((X @ w - y) ** 2),
        np.zeros(20),
        grad=lambda w: X.T @ (X @ w - y) / 25,
        method="gradient_descent",
        learning_rate=0.05,
        stop=watch | MaxIter(2000),
    )
    display = EpochCurveDisplay.from_estimator(result, watch)
    np.testing.assert_array_equal(display.validation_line_.get_ydata(), watch.errors_)
    np.testing.assert_array_equal(display.train_line_.get_ydata(), result.history["objective"])
    assert display.best_ == watch.best_step_ + 1 == len(watch.errors_) - 15
    np.testing.assert_allclose(display.mark_.get_xydata(), [[display.best_, min(watch.errors_)]])
    assert display.best_ < len(watch.errors_)


@pytest.mark.catalogue("PL-22")
def test_epochs_of_an_estimator_come_from_its_history():
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 25))
    y = np.where(X[:, 0] + random.normal(size=60) > 0, "yes", "no")
    stop = ScoreStopping(X[40:], y[40:], scoring="neg_log_loss", patience=4)
    model = LogisticRegression(C=1e5).set_callbacks(stop).fit(X[:40], y[:40])
    display = EpochCurveDisplay.from_estimator(model, stop)
    np.testing.assert_array_equal(display.train_line_.get_ydata(), model.history_["objective"])
    np.testing.assert_array_equal(display.validation_line_.get_ydata(), -np.array(stop.scores_))
    assert display.best_ == np.argmax(stop.scores_) + 1
    alone = EpochCurveDisplay.from_estimator(model)
    assert alone.validation_line_ is None
    assert alone.mark_.get_ydata()[0] == model.history_["objective"].min()


def test_the_best_epoch_of_a_fit_with_early_stopping_is_that_of_its_validation_rows():
    X = np.random.default_rng(1).normal(size=(200, 10))
    y = X[:, 0] > 0
    model = MLPClassifier(4, early_stopping=True, max_iter=30, random_state=0, tol=0.0).fit(X, y)
    display = EpochCurveDisplay.from_estimator(model)
    scores = np.asarray(model.history_["validation_score"])
    np.testing.assert_array_equal(display.validation_line_.get_ydata(), scores)
    assert display.best_ == np.argmax(scores) + 1
    assert display.validation_line_.axes is not display.ax_  # accuracies have another scale than losses
    labels = [text.get_text() for text in display.validation_line_.axes.get_legend().get_texts()]
    assert labels == ["training rows", "score of validation rows", f"greatest, epoch {display.best_}"]


@pytest.mark.catalogue("PL-29")
def test_centres_split_where_the_variance_says_and_cost_falls():
    random = np.random.default_rng(0)
    X = np.concatenate([place + random.normal(size=(60, 2)) for place in ([-20.0, 3.0], [20.0, 3.0], [5.0, 9.0])])
    estimator = SoftKMeans(3, n_levels=25, max_iter=2000, tol=1e-10, random_state=0)
    display = AnnealedCentresDisplay.from_estimator(estimator, X, column=1)
    model = SoftKMeans(**estimator.get_params()).fit(X)
    assert not hasattr(estimator, "cluster_centers_")
    np.testing.assert_array_equal(display.centres[-1], model.cluster_centers_)
    np.testing.assert_array_equal(display.cost_line_.get_ydata(), model.costs_)
    np.testing.assert_array_equal(display.count_line_.get_ydata(), model.n_distinct_)
    critical = 1 / (2 * np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1])
    assert display.axes_[0].lines[-1].get_xdata()[0] == pytest.approx(critical)
    before = display.betas < 0.95 * critical
    assert before.any()
    np.testing.assert_allclose(display.centres[before], np.broadcast_to(X.mean(axis=0), (before.sum(), 3, 2)), atol=0.2)
    assert np.ptp(display.centres[-1][:, 0]) > 35
    drawn = np.asarray(display.points_.get_offsets()).reshape(25, 3, 2)
    np.testing.assert_allclose(drawn[:, :, 1], display.centres[:, :, 1])
    np.testing.assert_allclose(drawn[:, 0, 0], display.betas)
    # Each level's centres are a fixed point of its own temperature: the level in the middle, by definition.
    middle = 12
    shares = np.exp(-display.betas[middle] * np.square(X[:, None] - display.centres[middle]).sum(axis=2))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares.T @ X / shares.sum(axis=0)[:, None], display.centres[middle], atol=1e-3)


@pytest.mark.catalogue("PL-29")
def test_the_mean_field_is_the_slope_of_the_pairwise_cost_and_the_distance_to_the_mean():
    rows, labels = np.array([0.0, 1.0, 3.0, 10.0, 10.5]), np.array([0, 0, 0, 1, 1])
    display = MeanFieldDisplay.from_rows(rows, labels, rows)
    means = [rows[labels == k].mean() for k in (0, 1)]
    np.testing.assert_allclose(display.field_, np.square(rows[:, None] - means))
    distances, memberships = np.square(rows[:, None] - rows), np.eye(2)[labels]
    for at, cluster in ((0, 0), (2, 1), (4, 0)):
        costs = []
        for step in (1e-5, -1e-5):
            moved = memberships.copy()
            moved[at, cluster] += step
            costs.append(pairwise_cost(distances, memberships=np.maximum(moved, 0)) if moved.min() >= 0 else np.nan)
        slope = (costs[0] - costs[1]) / 2e-5
        if np.isnan(slope):  # a membership of zero has a slope to one side only
            slope = (costs[0] - pairwise_cost(distances, memberships=memberships)) / 1e-5
        assert 2 / 2 * display.field_[at, cluster] == pytest.approx(slope, rel=1e-3, abs=1e-3)
    for q in (0, 1):
        np.testing.assert_array_equal(display.field_lines_[q].get_ydata(), display.field_[:, q])
        gap = display.mean_lines_[q].get_ydata() - display.field_lines_[q].get_ydata()
        np.testing.assert_allclose(gap, rows[labels == q].var())


@pytest.mark.catalogue("PL-35")
def test_both_densities_have_the_area_one_and_the_output_is_that_of_samples():
    slopes = {"w = 0.5": 0.5, "w = 1.5": 1.5, "w = 4": 4.0}
    densities = {
        name: TransformedDensity(
            GaussianDensity(0.3, 1.0),
            lambda x, w=w: expit(w * x),
            lambda y, w=w: logit(y) / w,
            lambda x, w=w: w * expit(w * x) * expit(-w * x),
        )
        for name, w in slopes.items()
    }
    x = np.linspace(-7.0, 7.0, 4001)
    display = TransformedDensityDisplay.from_densities(densities, x)
    for name, w in slopes.items():
        before, function, after = (line.get_xydata() for line in display.lines_[name])
        assert np.trapezoid(before[:, 1], before[:, 0]) == pytest.approx(1.0, abs=1e-5)
        assert np.trapezoid(after[:, 1], after[:, 0]) == pytest.approx(1.0, abs=1e-3)
        np.testing.assert_allclose(function[:, 1], 1 / (1 + np.exp(-w * x)), rtol=1e-12)
        # The probability that the output is below 0.7 is that of the input below logit(0.7) / w.
        below = after[:, 0] < 0.7
        exact = stats.norm(0.3, 1.0).cdf(np.log(0.7 / 0.3) / w)
        assert np.trapezoid(after[below, 1], after[below, 0]) == pytest.approx(exact, abs=2e-3)
        np.testing.assert_allclose(display.areas_[name], 1.0, atol=1e-3)


def test_a_falling_function_has_a_positive_area():
    mirrored = TransformedDensity(GammaDensity(3.0, 1.0), np.negative, np.negative, lambda x: -np.ones_like(x))
    display = TransformedDensityDisplay({"-x": mirrored}, np.linspace(0.001, 40.0, 2001))
    np.testing.assert_allclose(display.areas_["-x"], 1.0, atol=1e-4)


@pytest.mark.catalogue("PL-36")
def test_each_curve_of_evidence_has_the_area_one_and_is_the_marginal_density():
    models = {
        "simple": GaussianMean(2.0, 0.04),
        "flexible": GaussianMean(2.0, 50.0),
        "fixed": GaussianDensity(2.0, 1.0),
    }
    display = EvidenceDisplay.from_models(models, np.linspace(-80.0, 84.0, 8001))
    for line, spread in zip(display.lines_, (0.04, 50.0, 0.0), strict=True):
        x, evidence = line.get_data()
        np.testing.assert_allclose(evidence, stats.norm(2.0, np.sqrt(1.0 + spread)).pdf(x), atol=1e-12)
        assert display.areas_[line.get_label()] == pytest.approx(1.0, abs=1e-6)
    assert display.best_[0] == display.best_[-1] == "flexible"
    assert display.best_[4000] == "fixed"


@pytest.mark.catalogue("PL-36")
def test_marks_are_at_mean_median_and_mode_of_the_predictive_density():
    y = np.linspace(-1.0, 1.0, 20_001)
    display = OptimalPredictionDisplay.from_density(BetaDensity(2.0, 5.0), np.linspace(0.0, 1.0, 20_001))
    mean, median, mode = (line.get_xdata()[0] for line in display.marks_)
    assert mean == pytest.approx(2 / 7, abs=1e-4)
    assert median == pytest.approx(stats.beta(2, 5).median(), abs=1e-4)
    assert mode == pytest.approx(1 / 5, abs=1e-4)
    assert [line.get_label().split()[0] for line in display.marks_] == ["mean", "median", "mode"]
    np.testing.assert_allclose(display.line_.get_ydata(), stats.beta(2, 5).pdf(display.y))
    one = OptimalPredictionDisplay(y, stats.norm(0.0, 0.1).pdf(y), losses=("absolute",))
    assert one.predictions_["absolute"] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.catalogue("PL-40")
@pytest.mark.parametrize("multiplicative", [False, True])
@pytest.mark.parametrize("noise", [GaussianDensity(0.2, 0.09), LaplaceDensity(0.0, 0.3), stats.norm(0.1, 0.3)])
def test_band_and_fantasies_are_those_of_the_noise(multiplicative, noise):
    noise = noise if hasattr(noise, "logpdf") and hasattr(noise, "sample") else _Frozen(noise)
    model = GenerativeRegression(lambda X: 5 - 2 * X[:, 0], noise, multiplicative)
    grid = np.linspace(0.0, 2.0, 11)
    display = GenerativeRegressionDisplay.from_model(model, grid, n_samples=4000, random_state=5, X=[[1.0]], y=[3.0])
    np.testing.assert_allclose(display.line_.get_xydata(), np.column_stack([grid, 5 - 2 * grid]))
    drawn = np.asarray(display.fantasies_.get_offsets()).reshape(4000, 11, 2)
    np.testing.assert_array_equal(drawn[:, :, 1], model.sample(grid[:, None], 4000, 5))
    np.testing.assert_allclose(drawn[..., 1].mean(axis=0), display.centre, atol=0.12)
    np.testing.assert_allclose(drawn[..., 1].std(axis=0), display.deviation, rtol=0.1)
    band = display.band_.get_paths()[0].vertices
    for at in (0.0, 2.0):
        edge = band[np.isclose(band[:, 0], at), 1]
        k = int(np.argmin(np.abs(grid - at)))
        assert edge.min() == pytest.approx(display.centre[k] - 2 * display.deviation[k])
        assert edge.max() == pytest.approx(display.centre[k] + 2 * display.deviation[k])
    np.testing.assert_array_equal(np.asarray(display.points_.get_offsets()), [[1.0, 3.0]])


class _Frozen:
    """A noise with no moments of its own: those of a sample are taken."""

    def __init__(self, distribution):
        self.distribution = distribution

    def logpdf(self, x):
        return self.distribution.logpdf(x)

    def sample(self, n, random_state=None):
        return self.distribution.rvs(n, random_state=random_state)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (
            lambda: FittedCurvesDisplay([0, 1], {"a": [1]}, [0], [1]),
            "curves must have the shape of the grid, (2,); got",
        ),
        (
            lambda: FittedCurvesDisplay.compute({}, np.ones((3, 2)), [1, 2, 3]),
            "X must have one column; got shape (3, 2)",
        ),
        (lambda: EpochCurveDisplay([]), "train must have one loss per epoch; got shape (0,)"),
        (lambda: EpochCurveDisplay([1.0, 2.0], [1.0]), "validation must have one loss per epoch, 2; got shape (1,)"),
        (
            lambda: EpochCurveDisplay.compute(LinearRegression()),
            "have a history_ with 'objective'; got LinearRegression",
        ),
        (lambda: AnnealedCentresDisplay([1.0], [1.0], [1], np.ones((1, 2, 1)), 1.0, column=1), "column be in [0, d)"),
        (lambda: MeanFieldDisplay([1.0], [1, 2]), "must be of one length and have one axis; got shapes (1,) and (2,)"),
        (lambda: TransformedDensityDisplay({}, [1.0, 0.0]), "x must have increasing numbers; got shape (2,)"),
        (
            lambda: EvidenceDisplay([1.0], {"a": [1.0, 2.0]}),
            "must have one entry per observation, (1,); got {'a': (2,)}",
        ),
        (lambda: OptimalPredictionDisplay([1.0], [1.0, 2.0]), "one per target of y, (1,); got (2,)"),
        (lambda: GenerativeRegressionDisplay.compute(None, [[1.0]]), "grid must have one axis; got shape (1, 1)"),
        (lambda: GenerativeRegressionDisplay([1.0], [1.0], [1.0], [1.0], [1.0]), "shape (n_samples, 1); got (1,)"),
        (lambda: JamesSteinDisplay(2), "d must be an integer in [3, inf); got 2"),
    ],
)
def test_wrong_input_is_answered_with_a_cure(act, words):
    with pytest.raises(DataError, match=re.escape(words)):
        act()
