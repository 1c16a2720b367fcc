"""Calibrated probabilities: scikit-learn's maps, what they minimise, the same bits on any threads, and edges."""

import numpy as np
import pandas
import pytest
import sklearn.calibration
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.neighbors
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from sklearn.feature_extraction import DictVectorizer
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import mercer
from mercer._base.calibrating import bound_steps, fit_beta, fit_dirichlet, fit_sigmoid, fit_temperature
from mercer.calibration import CalibratedClassifierCV
from mercer.errors import UnsupportedError
from mercer.frozen import FrozenEstimator
from mercer.linear_model import LogisticRegression, Perceptron
from mercer.naive_bayes import GaussianNB
from mercer.neighbors import KNeighborsClassifier

# Those that scikit-learn has, and all.
THEIRS = ("sigmoid", "isotonic", "temperature")
METHODS = (*THEIRS, "beta", "dirichlet", "venn_abers")


def draw(n=400, n_classes=3, seed=0):
    X, y = make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=seed)
    return X, np.array(["ash", "birch", "cedar"])[y]


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", THEIRS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("base", [sklearn.naive_bayes.GaussianNB(), sklearn.linear_model.RidgeClassifier()])
def test_probabilities_are_those_of_scikit_learn(method, ensemble, n_classes, base):
    X, y = draw(n_classes=n_classes)
    weight = np.random.default_rng(0).random(len(X))
    settings = {"method": method, "ensemble": ensemble, "cv": 3}
    ours = CalibratedClassifierCV(base, **settings).fit(X, y, sample_weight=weight)
    theirs = sklearn.calibration.CalibratedClassifierCV(base, **settings).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98
    assert ours.converged_
    assert ours.certificate_.satisfied


def test_a_sigmoid_has_the_least_loss_against_platts_targets():
    random = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e6):
        f = scale * (random.normal(size=80) + 3.0)
        positive, weight = random.random(80) < 0.3, random.random(80)
        n, m = weight[positive].sum(), weight[~positive].sum()
        targets = np.where(positive, (n + 1) / (n + 2), 1 / (m + 2))

        def measure(pair, f=f / scale, targets=targets, weight=weight):
            z = -(pair[0] * f + pair[1])
            return np.sum(weight * (np.logaddexp(0, z) - targets * z)) / weight.sum()

        a, b, left = fit_sigmoid(f, positive, weight)
        best = minimize(measure, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
        assert measure([a * scale, b]) <= best.fun + 1e-13
        assert left < 1e-10
    for constant in (np.zeros(9), np.full(9, 5.0)):
        a, b, left = fit_sigmoid(constant, np.arange(9) < 3, None)
        assert 1 / (1 + np.exp(a * constant[0] + b)) == pytest.approx((3 * 4 / 5 + 6 / 8) / 9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_temperature_has_the_least_loss_and_perfect_scores_end_at_its_range(scale):
    random = np.random.default_rng(0)
    z, weight = random.normal(size=(200, 4)), random.random(200)
    labels = (0.3 * z + random.gumbel(size=z.shape)).argmax(axis=1)

    def measure(beta):
        odds = np.exp(beta * z)
        return np.average(-np.log((odds / odds.sum(axis=1, keepdims=True))[np.arange(200), labels]), weights=weight)

    beta, left = fit_temperature(z * scale, labels, weight)
    assert all(measure(beta * scale) <= measure(beta * scale * factor) for factor in (0.99, 1.01))
    assert left < 1e-10
    sure, left = fit_temperature(z * scale, z.argmax(axis=1), None)
    assert sure * scale > 1e3
    wrong, left = fit_temperature(z * scale, z.argmin(axis=1), None)
    assert 0 < wrong * scale < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_that_are_too_sure_get_closer_to_the_shares(method):
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 1)).repeat(5, axis=1)
    y = random.random(2000) < 1 / (1 + np.exp(-X[:, 0]))
    plain = GaussianNB().fit(X[:1000], y[:1000])
    calibrated = CalibratedClassifierCV(GaussianNB(), method=method).fit(X[:1000], y[:1000])
    before, after = (log_loss(y[1000:], model.predict_proba(X[1000:])) for model in (plain, calibrated))
    assert after < 0.8 * before


@pytest.mark.parametrize("ensemble", [True, False])
def test_threads_change_no_bit(ensemble):
    X, y = draw()
    answers = [
        CalibratedClassifierCV(GaussianNB(), ensemble=ensemble, n_jobs=threads).fit(X, y).predict_proba(X)
        for threads in (1, 2, 7)
    ]
    for other in answers[1:]:
        np.testing.assert_array_equal(other, answers[0])


class CountingNB(GaussianNB):
    """Counts the rows whose probabilities were asked for."""

    rows = 0

    def predict_proba(self, X):
        type(self).rows += len(X)
        return super().predict_proba(X)


def test_a_frozen_classifier_keeps_its_fit_and_is_asked_once():
    X, y = draw()
    plain = CountingNB().fit(X[:200], y[:200])
    CountingNB.rows = 0
    model = CalibratedClassifierCV(FrozenEstimator(plain), method="isotonic").fit(X[200:], y[200:])
    assert CountingNB.rows == 200
    assert len(model.calibrated_classifiers_) == 1
    assert model.calibrated_classifiers_[0].estimator.theta_ is plain.theta_
    theirs = sklearn.calibration.CalibratedClassifierCV(FrozenEstimator(plain), method="isotonic")
    np.testing.assert_allclose(model.predict_proba(X), theirs.fit(X[200:], y[200:]).predict_proba(X), atol=1e-12)


def test_a_temperature_keeps_the_classes_of_a_frozen_classifier():
    X, y = draw()
    plain = LogisticRegression().fit(X[:200], y[:200])
    model = CalibratedClassifierCV(FrozenEstimator(plain), method="temperature").fit(X[200:], y[200:])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    after, before = (log_loss(y[200:], one.predict_proba(X[200:])) for one in (model, plain))
    assert after <= before


def test_a_perceptron_finds_its_temperature_by_the_same_code():
    from mercer.neural_network import MLPClassifier

    for n_classes in (2, 3):
        X, y = draw(n_classes=n_classes)
        network = MLPClassifier((8,), max_iter=30, learning_rate_init=0.05, random_state=0).fit(X[:200], y[:200])
        outputs = np.log(network.predict_proba(X[200:]))
        beta = fit_temperature(outputs, np.searchsorted(network.classes_, y[200:]), None)[0]
        assert network.calibrate(X[200:], y[200:]).temperature_ == pytest.approx(1 / beta, rel=1e-6)


def test_folds_that_lack_a_class_give_it_no_share():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.repeat(["a", "b", "c"], 10)
    for ensemble in (True, False):
        model = CalibratedClassifierCV(KNeighborsClassifier(3), cv=sklearn.model_selection.KFold(3), ensemble=ensemble)
        shares = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        if ensemble:
            assert (model.calibrated_classifiers_[0].predict_proba(X)[:, 0] == 0).all()


def test_frames_dictionaries_and_files(tmp_path):
    X, y = draw()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = CalibratedClassifierCV(Perceptron(random_state=0), cv=2).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    for method in METHODS:
        model = CalibratedClassifierCV(GaussianNB(), method=method, cv=2).fit(X, y)
        mercer.save(model, tmp_path / "model.mercer")
        np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict_proba(X), model.predict_proba(X))
    rows = [{"tree": name} for name in y]
    pipeline = make_pipeline(DictVectorizer(), LogisticRegression())
    assert CalibratedClassifierCV(pipeline, cv=2).fit(rows, y).score(rows, y) == 1.0


def test_what_cannot_be_calibrated_is_refused():
    X, y = draw(60)
    with pytest.raises(ValueError, match="must have decision_function or predict_proba; LinearRegression has neither"):
        CalibratedClassifierCV(sklearn.linear_model.LinearRegression(), cv=2).fit(X, (y == "ash").astype(int))
    with pytest.raises(ValueError, match="Requesting 40-fold cross-validation but provided less than 40 examples"):
        CalibratedClassifierCV(GaussianNB(), cv=40).fit(X, y)
    with pytest.raises(ValueError, match="each row must be in one test part"):
        CalibratedClassifierCV(GaussianNB(), cv=[(np.arange(60), np.arange(60))] * 2, ensemble=False).fit(X, y)
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
        CalibratedClassifierCV(sklearn.neighbors.KNeighborsClassifier(), cv=2).fit(X, y, sample_weight=np.ones(60))


def test_a_beta_map_has_the_least_loss_among_maps_that_never_fall():
    random = np.random.default_rng(0)
    for turned in (False, True):
        s = random.beta(0.7, 0.7, size=300)
        positive = (random.random(300) < s**0.5) ^ turned

        def measure(abc, s=s, positive=positive):
            z = abc[0] * np.log(s) - abc[1] * np.log1p(-s) + abc[2]
            return np.sum(np.logaddexp(0, z) - positive * z) + 0.5 * np.sum((abc - np.array([1, 1, 0])) ** 2)

        coefficients, left = fit_beta(s, positive, None)
        best = minimize(measure, [1.0, 1.0, 0.0], bounds=[(0, None), (0, None), (None, None)], tol=1e-12)
        assert measure(coefficients) <= best.fun + 1e-7
        assert (coefficients[:2] >= 0).all()
        assert left <= 1e-8


def test_a_dirichlet_map_has_the_least_penalised_loss_and_few_rows_change_little():
    random = np.random.default_rng(0)
    shares = random.dirichlet([1, 1, 1], size=400)
    codes = np.array([random.choice(3, p=p**2 / (p**2).sum()) for p in shares])

    def measure(flat):
        W = flat.reshape(3, 4)
        z = np.log(shares) @ W[:, :3].T + W[:, 3]
        loss = np.log(np.exp(z).sum(axis=1)) - z[np.arange(400), codes]
        return loss.sum() + 0.5 * ((W - np.eye(3, 4)) ** 2).sum()

    found, left = fit_dirichlet(shares, codes, None)
    best = minimize(measure, np.eye(3, 4).ravel(), tol=1e-10)
    np.testing.assert_allclose(found.ravel(), best.x, atol=1e-3)
    assert measure(found.ravel()) <= best.fun + 1e-7
    assert left <= 1e-8
    # Every row twice is a weight of two.
    twice = fit_dirichlet(np.repeat(shares, 2, axis=0), np.repeat(codes, 2), None)[0]
    np.testing.assert_allclose(fit_dirichlet(shares, codes, np.full(400, 2.0))[0], twice, atol=1e-8)
    few = fit_dirichlet(shares[:1], codes[:1], None)[0]
    assert np.abs(few - np.eye(3, 4)).max() < np.abs(found - np.eye(3, 4)).max()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bounds_of_venn_and_abers_are_isotonic_fits_with_the_row_itself(weighted):
    from sklearn.isotonic import IsotonicRegression

    random = np.random.default_rng(0)
    for n, ties in ((1, False), (2, False), (40, True), (60, False)):
        scores = random.integers(0, 7, n).astype(float) if ties else random.normal(size=n)
        positive = random.random(n) < 0.4
        weight = random.random(n) if weighted else np.ones(n)
        points, *bounds = bound_steps(scores, positive, weight if weighted else None)
        for label, found in enumerate(bounds):
            for point, value in zip(points, found, strict=True):
                fitted = IsotonicRegression().fit(
                    np.append(scores, point), np.append(positive, label).astype(float), np.append(weight, 1.0)
                )
                assert np.isclose(fitted.predict([point])[0], value)


def test_the_bound_that_the_class_chooses_is_calibrated():
    random = np.random.default_rng(0)
    chosen, labels = [], []
    for _ in range(60):
        X = random.normal(size=(100, 1))
        y = random.random(100) < 1 / (1 + np.exp(-X[:, 0]))
        frozen = FrozenEstimator(GaussianNB().fit([[-1.0], [-0.5], [0.5], [1.0]], [False, False, True, True]))
        model = CalibratedClassifierCV(frozen, method="venn_abers").fit(X[:60], y[:60])
        bounds = model.predict_bounds(X[60:])
        assert (bounds[:, 0] <= bounds[:, 1]).all()
        middle = model.predict_proba(X[60:])[:, 1]
        assert ((bounds[:, 0] <= middle) & (middle <= bounds[:, 1])).all()
        chosen.append(bounds[np.arange(40), y[60:].astype(int)])
        labels.append(y[60:])
    chosen, labels = np.concatenate(chosen), np.concatenate(labels)
    for low, high in ((0.0, 0.35), (0.35, 0.65), (0.65, 1.01)):
        inside = (chosen >= low) & (chosen < high)
        # Rows of one table share its calibration: four standard errors of single rows, doubled for that.
        error = 8 * np.sqrt(0.25 / inside.sum())
        assert abs(labels[inside].mean() - chosen[inside].mean()) < error


def test_maps_of_probabilities_need_them_and_bounds_need_two_classes():
    X, y = draw(120)
    for method in ("beta", "dirichlet"):
        with pytest.raises(ValueError, match=f"method='{method}' maps probabilities, so that estimator must have"):
            CalibratedClassifierCV(Perceptron(random_state=0), method=method, cv=2).fit(X, y)
    three = CalibratedClassifierCV(GaussianNB(), method="venn_abers", cv=2).fit(X, y)
    with pytest.raises(UnsupportedError, match="predict_bounds needs method='venn_abers' and two classes; got"):
        three.predict_bounds(X)
