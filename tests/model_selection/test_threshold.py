"""Thresholds: scikit-learn's choice, exact counts for all thresholds at once, and errors."""

import numpy as np
import pytest
import sklearn.model_selection as theirs
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer

import mercer
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from mercer.model_selection._threshold import _RATES, Outcomes


def draw(seed=0, **options):
    return make_classification(300, weights=[0.8, 0.2], flip_y=0.2, random_state=seed, **options)


@pytest.mark.parametrize("name", sorted(_RATES))
def test_scores_of_all_thresholds_are_those_of_scikit_learns_scorer(name):
    random = np.random.default_rng(0)
    scores, y, weight = random.normal(size=50).round(1), random.integers(0, 2, 50), random.integers(1, 4, 50) * 1.0
    thresholds = np.linspace(scores.min(), scores.max(), 20)
    found = _RATES[name](Outcomes.of(scores, y == 1, weight, thresholds))
    score = get_scorer(name)._score_func
    wanted = [score(y, (scores >= one).astype(int), sample_weight=weight) for one in thresholds]
    assert np.allclose(found, wanted)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "matthews_corrcoef"])
@pytest.mark.parametrize("method", ["auto", "decision_function"])
def test_the_threshold_is_scikit_learns(scoring, method):
    X, y = draw()
    given = {"scoring": scoring, "response_method": method, "store_cv_results": True, "thresholds": 30}
    mine, other = (
        one(LogisticRegression(), **given).fit(X, y)
        for one in (TunedThresholdClassifierCV, theirs.TunedThresholdClassifierCV)
    )
    assert mine.best_threshold_ == pytest.approx(other.best_threshold_)
    assert mine.best_score_ == pytest.approx(other.best_score_)
    assert np.allclose(mine.cv_results_["scores"], other.cv_results_["scores"])
    assert np.array_equal(mine.predict(X), other.predict(X))


@pytest.mark.parametrize("given", [{"cv": 0.3, "random_state": 0}, {"thresholds": [0.2, 0.4, 0.6]}, {"cv": 3}])
def test_splits_and_thresholds_of_ones_own_are_taken(given):
    X, y = draw()
    mine, other = (
        one(LogisticRegression(), **given).fit(X, y)
        for one in (TunedThresholdClassifierCV, theirs.TunedThresholdClassifierCV)
    )
    assert mine.best_threshold_ == pytest.approx(other.best_threshold_)


def test_a_fitted_classifier_is_scored_as_it_is():
    X, y = draw()
    fitted = LogisticRegression().fit(X[:150], y[:150])
    mine = TunedThresholdClassifierCV(fitted, cv="prefit", refit=False).fit(X[150:], y[150:])
    assert mine.estimator_ is fitted
    other = theirs.TunedThresholdClassifierCV(fitted, cv="prefit", refit=False).fit(X[150:], y[150:])
    assert mine.best_threshold_ == pytest.approx(other.best_threshold_)
    with pytest.raises(ParameterError, match="When cv='prefit', refit cannot be True"):
        TunedThresholdClassifierCV(fitted, cv="prefit").fit(X, y)
    with pytest.raises(NotFittedError, match="`estimator` must be fitted"):
        TunedThresholdClassifierCV(LogisticRegression(), cv="prefit", refit=False).fit(X, y)


def test_texts_are_labels_and_weights_reach_fits_and_scores():
    X, y = draw()
    words, weight = np.array(["no", "yes"])[y], np.where(y == 1, 5.0, 1.0)
    model = TunedThresholdClassifierCV(LogisticRegression(), scoring="accuracy")
    assert set(model.fit(X, words).predict(X)) == {"no", "yes"}
    assert model.fit(X, words, sample_weight=weight).best_score_ != model.fit(X, words).best_score_


@pytest.mark.parametrize("positive", [0, 1, None])
@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_a_fixed_threshold_decides_as_scikit_learns(positive, method):
    X, y = draw()
    given = {"threshold": 0.3, "pos_label": positive, "response_method": method}
    mine, other = (
        one(LogisticRegression(), **given).fit(X, y)
        for one in (FixedThresholdClassifier, theirs.FixedThresholdClassifier)
    )
    assert np.array_equal(mine.predict(X), other.predict(X))
    assert np.array_equal(mine.predict_proba(X), mine.estimator_.predict_proba(X))


def test_a_fixed_threshold_needs_no_fit_of_its_own_for_a_fitted_classifier(tmp_path):
    X, y = draw()
    fitted = LogisticRegression().fit(X, y)
    assert np.array_equal(FixedThresholdClassifier(fitted).predict(X), fitted.predict(X))
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.2).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    assert np.array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_errors_name_the_classes_and_the_cure():
    X, y = draw(n_classes=3, n_informative=4)
    with pytest.raises(DataError, match=r"Only binary classification is supported\. Unknown label type: multiclass"):
        TunedThresholdClassifierCV(LogisticRegression()).fit(X, y)
    with pytest.raises(DataError, match="makes constant predictions"):
        TunedThresholdClassifierCV(LogisticRegression()).fit(np.zeros((20, 2)), np.arange(20) % 2)
    with pytest.raises(ParameterError, match="When cv has several folds, refit cannot be False"):
        TunedThresholdClassifierCV(LogisticRegression(), refit=False).fit(X, y > 0)
    with pytest.raises(ParameterError, match="pos_label=7 is not a valid label"):
        FixedThresholdClassifier(LogisticRegression(), pos_label=7).fit(X, (y > 0).astype(int))
    with pytest.raises(AttributeError, match="has none of the following attributes: predict_proba, decision_function"):
        FixedThresholdClassifier(Ridge()).fit(X, (y > 0).astype(int))
