"""Nested cross-validation judges a choice on rows without a part in it."""

import re
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_wine, make_classification
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.model_selection import Contender, nested_cv, score_interval
from mercer.model_selection._splits import Splitting, split_rows
from mercer.naive_bayes import GaussianNB
from mercer.neighbors import NearestCentroid

WINE = load_wine(return_X_y=True)


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers which rows it was fitted to: the first column is the number of the row."""

    seen: list = []
    lock = threading.Lock()

    def __init__(self, setting=0):
        self.setting = setting

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_ = X[:, 0].astype(int)
        return self

    def predict(self, X):
        with self.lock:
            self.seen.append((self.setting, set(self.rows_), set(X[:, 0].astype(int))))
        return np.full(len(X), self.classes_[0])


@pytest.mark.catalogue("MS-04")
def test_outer_test_rows_never_touch_a_choice():
    Recorder.seen = []
    X, y = np.arange(60.0)[:, None], np.tile([0, 1], 30)
    nested_cv(Recorder(), X, y, space={"setting": [0, 1]}, outer=3, inner=2, random_state=0, n_jobs=1, refit=False)
    parts = [set(test) for _, test in _outer()]
    apart = [(fitted, judged) for _, fitted, judged in Recorder.seen if not fitted & judged]
    inner = [(fitted, judged) for fitted, judged in apart if len(fitted | judged) == 40]
    assert len(inner) == 3 * 2 * 2  # outer folds, inner folds, settings
    for fitted, judged in inner:
        assert any(not (fitted | judged) & part for part in parts)
    outside = [judged for _, fitted, judged in Recorder.seen if len(fitted) == 40 and not fitted & judged]
    assert {frozenset(one) for one in outside} == {frozenset(part) for part in parts}


def _outer():
    seed = int(np.random.RandomState(0).randint(2**31 - 2**20))
    return split_rows(60, Splitting(np.tile([0, 1], 30)), 3, 1, seed)


@pytest.mark.catalogue("MS-04", "MS-06")
def test_on_noise_nested_scores_are_chance_and_the_best_of_plain_ones_is_not():
    spaces = {"C": np.logspace(-3, 3, 7)}
    honest, plain = [], []
    for seed in range(8):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(60, 20)), random.integers(0, 2, 60)
        models = {f"columns {k}": LogisticRegression() for k in range(4)}
        contenders = [
            Contender(name, make_pipeline(_Columns(k), LogisticRegression()), {"logisticregression__C": spaces["C"]}, k)
            for k, name in enumerate(models)
        ]
        found = nested_cv(contenders, X, y, outer=4, inner=3, rule="best", random_state=seed, refit=False)
        honest.append(found.interval.mean)
        plain.append(max(trial.inner_scores.mean(axis=(0, 2)).max() for trial in found.trials))
    assert abs(np.mean(honest) - 0.5) < 0.06
    assert np.mean(plain) > np.mean(honest) + 0.03


class _Columns(BaseEstimator):
    """Some of the columns."""

    def __init__(self, part):
        self.part = part

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X[:, self.part * 5 : self.part * 5 + 5]


@pytest.mark.catalogue("MS-02", "WF-05")
def test_the_scores_are_those_of_scikit_learn_s_search_inside_its_folds():
    X, y = WINE
    model = make_pipeline(StandardScaler(), LogisticRegression())
    space = {"logisticregression__C": [1e-3, 1.0]}
    found = nested_cv(model, X, y, space=space, outer=3, inner=3, random_state=5)
    seed = int(np.random.RandomState(5).randint(2**31 - 2**20))
    outer = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=seed)
    for number, (train, test) in enumerate(outer.split(X, y)):
        inner = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=seed + 1 + number)
        search = GridSearchCV(model, space, cv=inner).fit(X[train], y[train])
        assert search.best_params_ == found.trials[0].chosen_settings[number]
        assert search.score(X[test], y[test]) == pytest.approx(found.trials[0].scores[number], abs=1e-12)


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_change_no_bit(n_jobs):
    X, y = WINE
    models = {"centroid": NearestCentroid(), "bayes": GaussianNB()}
    space = {"bayes": {"var_smoothing": [1e-9, 1e-2]}}
    one = nested_cv(models, X, y, space=space, random_state=1, n_jobs=1)
    other = nested_cv(models, X, y, space=space, random_state=1, n_jobs=n_jobs)
    for a, b in zip(one.trials, other.trials):
        np.testing.assert_array_equal(a.predictions, b.predictions)
        np.testing.assert_array_equal(a.inner_scores, b.inner_scores)
        np.testing.assert_array_equal(a.scores, b.scores)


def test_the_simplest_as_good_as_the_best_wins():
    X, y = make_classification(300, 10, n_informative=4, random_state=0)
    models = {"linear": LinearDiscriminantAnalysis(), "again": LinearDiscriminantAnalysis()}
    found = nested_cv(models, X, y, random_state=0)
    assert found.winner == "linear"
    assert set(found.choices) == {"linear"}
    assert found.estimator.score(X, y) > 0.7


def test_groups_stay_on_one_side():
    X, y = WINE
    groups = np.arange(len(y)) % 12
    found = nested_cv(GaussianNB(), X, y, groups=groups, outer=3, inner=2, random_state=0, keep_models=True)
    assert len(found.trials[0].models) == 3
    for train, test in split_rows(len(y), Splitting(y, groups), 3, 2, 0):
        assert not set(groups[train]) & set(groups[test])


def test_time_goes_forward_and_first_rows_are_never_judged():
    X, y = load_diabetes(return_X_y=True)
    time = np.random.default_rng(0).permutation(len(y))
    found = nested_cv(Ridge(), X, y, time=time, outer=4, inner=2, random_state=0)
    unseen = np.isnan(found.trials[0].predictions)
    assert time[unseen].max() < time[~unseen].min()


def test_weights_reach_fits_and_scores():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    plain = nested_cv(Ridge(), X, y, random_state=0)
    weighted = nested_cv(Ridge(), X, y, sample_weight=weight, random_state=0)
    ones = nested_cv(Ridge(), X, y, sample_weight=np.ones(len(y)), random_state=0)
    np.testing.assert_allclose(ones.scores, plain.scores, rtol=1e-12)
    assert abs(weighted.scores - plain.scores).max() > 1e-4
    piped = nested_cv(make_pipeline(StandardScaler(), Ridge()), X, y, sample_weight=weight, random_state=0)
    assert np.isfinite(piped.scores).all()


def test_when_the_time_is_over_the_first_contender_is_still_judged():
    X, y = WINE
    models = {"first": GaussianNB(), "second": NearestCentroid()}
    found = nested_cv(models, X, y, max_time=0.0, random_state=0)
    assert [one.name for one in found.trials] == ["first"]
    assert found.unfinished == ("second",)


@pytest.mark.catalogue("MS-01", "MS-02")
def test_repeated_folds_judge_each_row_once_a_repeat():
    X, y = WINE
    found = nested_cv(GaussianNB(), X, y, outer=4, repeats=3, inner=2, random_state=0)
    assert len(found.scores) == 12
    assert not np.isnan(found.trials[0].predictions).any()
    plain = cross_val_score(GaussianNB(), X, y, cv=StratifiedKFold(4, shuffle=True, random_state=0))
    assert abs(found.interval.mean - plain.mean()) < 0.03


def test_the_interval_covers_the_error_on_fresh_rows():
    random, covered = np.random.default_rng(0), []
    truth = random.normal(size=5)
    for seed in range(60):
        X = random.normal(size=(120, 5))
        y = X @ truth + random.normal(scale=2.0, size=120)
        found = nested_cv(Ridge(), X, y, scoring="neg_mean_squared_error", inner=2, random_state=seed)
        fresh = random.normal(size=(4000, 5))
        error = np.mean((found.estimator.predict(fresh) - fresh @ truth - random.normal(scale=2.0, size=4000)) ** 2)
        covered.append(found.interval.low <= -error <= found.interval.high)
    assert np.mean(covered) >= 0.9


def test_the_interval_is_wider_than_that_of_independent_scores():
    scores = [0.7, 0.8, 0.75, 0.72, 0.78]
    found = score_interval(scores, test_share=0.25)
    assert found.standard_error == pytest.approx(np.sqrt((0.2 + 0.25) * np.var(scores, ddof=1)))
    assert score_interval([0.5], test_share=0.25).high == np.inf


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rule": "first"}, "nested_cv: rule must be one of 'one_standard_error', 'paired', 'best'; got 'first'."),
        (
            {"time": np.arange(178), "repeats": 2},
            "nested_cv: time goes with neither groups nor repeats: splits forward in time are fixed by the order.",
        ),
        (
            {"groups": np.zeros(178)},
            "splits: there must be at least 5 groups, one per fold; got 1. Ask for fewer folds.",
        ),
    ],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises((ParameterError, DataError), match=re.escape(text)):
        nested_cv(GaussianNB(), *WINE, **options)


def test_a_space_for_a_name_that_is_not_there_is_refused():
    text = "nested_cv: the names in space must be among those of the candidates, 'bayes'; got 'base'."
    with pytest.raises(ParameterError, match=re.escape(text)):
        nested_cv({"bayes": GaussianNB()}, *WINE, space={"base": {}})
