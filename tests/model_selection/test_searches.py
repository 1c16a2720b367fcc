"""Searches: scikit-learn's choices, fits that go on from each other, shared pipelines, Ctrl-C, resumption."""

import signal

import numpy as np
import pytest
import sklearn.svm
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV as TheirGrid
from sklearn.model_selection import HalvingGridSearchCV as TheirHalving
from sklearn.model_selection import HalvingRandomSearchCV as TheirRandomHalving
from sklearn.model_selection import RandomizedSearchCV as TheirRandom
from sklearn.pipeline import make_pipeline

import mercer
from mercer.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from mercer.errors import CheckpointError, DataError, InterruptWarning, ParameterError
from mercer.linear_model import Lasso, LogisticRegression, Ridge
from mercer.model_selection import GridSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV, RandomizedSearchCV
from mercer.naive_bayes import GaussianNB
from mercer.preprocessing import StandardScaler
from mercer.svm import SVC
from mercer.watch import Checkpoint

SCORES = ("mean_test_score", "std_test_score", "rank_test_score", "split0_test_score", "mean_train_score")


def assert_same_table(ours, theirs, keys=SCORES):
    assert set(ours) == set(theirs)
    assert ours["params"] == theirs["params"]
    for key in set(keys) & set(ours):
        np.testing.assert_allclose(ours[key], theirs[key], atol=1e-12)


PAIRS = {
    "grid": (GridSearchCV, TheirGrid, {"param_grid": {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}}),
    "random": (
        RandomizedSearchCV,
        TheirRandom,
        {"param_distributions": {"C": loguniform(1e-2, 1e2)}, "n_iter": 5, "random_state": 3},
    ),
    "halving": (
        HalvingGridSearchCV,
        TheirHalving,
        {"param_grid": {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1]}, "random_state": 1, "cv": 3},
    ),
    "random halving": (
        HalvingRandomSearchCV,
        TheirRandomHalving,
        {"param_distributions": {"C": loguniform(1e-2, 1e2)}, "random_state": 1, "cv": 3},
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_choices_and_tables_are_those_of_scikit_learn_with_the_same_estimator(pair):
    ours, theirs, settings = PAIRS[pair]
    X, y = load_iris(return_X_y=True)
    settings = settings | {"return_train_score": True}
    found, known = ours(sklearn.svm.SVC(), **settings).fit(X, y), theirs(sklearn.svm.SVC(), **settings).fit(X, y)
    assert_same_table(found.cv_results_, known.cv_results_)
    assert (found.best_params_, found.best_index_) == (known.best_params_, known.best_index_)
    assert found.score(X, y) == known.score(X, y)
    if "halving" in pair:
        for name in ("n_resources_", "n_candidates_", "n_iterations_", "n_remaining_candidates_", "min_resources_"):
            assert getattr(found, name) == getattr(known, name)


GROWING = {
    "forest": (RandomForestClassifier(random_state=0), {"n_estimators": [9, 3, 6], "max_depth": [2, 4]}),
    "extra trees": (ExtraTreesRegressor(random_state=0), {"n_estimators": [3, 8]}),
    "boosting": (GradientBoostingClassifier(random_state=0), {"n_estimators": [4, 8], "learning_rate": [0.1, 0.5]}),
    "histograms": (HistGradientBoostingClassifier(random_state=0), {"max_iter": [8, 4]}),
    "stopped histograms": (
        HistGradientBoostingClassifier(random_state=0, early_stopping=True, n_iter_no_change=2),
        {"max_iter": [4, 12, 30]},
    ),
}


@pytest.mark.parametrize("case", GROWING)
def test_fits_that_go_on_give_the_scores_of_separate_fits(case):
    estimator, grid = GROWING[case]
    rng = np.random.default_rng(5)
    X, y = make_classification(240, 6, random_state=int(rng.integers(2**31)))
    found = GridSearchCV(estimator, grid, cv=3).fit(X, y)
    known = TheirGrid(estimator, grid, cv=3).fit(X, y)
    assert_same_table(found.cv_results_, known.cv_results_)
    np.testing.assert_array_equal(found.predict(X), known.predict(X))


class CountedForest(RandomForestClassifier):
    """Notes how many trees each fit adds."""

    added: list = []

    def fit(self, X, y, sample_weight=None):
        before = len(vars(self).get("estimators_", ()))
        super().fit(X, y, sample_weight)
        self.added.append(self.n_estimators - before)
        return self


def test_a_chain_of_forests_grows_each_tree_once():
    X, y = load_iris(return_X_y=True)
    CountedForest.added = []
    GridSearchCV(CountedForest(random_state=0), {"n_estimators": [20, 5, 10]}, cv=2, refit=False, n_jobs=1).fit(X, y)
    assert sorted(CountedForest.added) == [5, 5, 5, 5, 10, 10]


def test_a_path_of_penalties_agrees_with_separate_fits_to_the_tolerance():
    X, y = load_diabetes(return_X_y=True)
    grid = {"alpha": np.logspace(-3, 0, 8)}
    found = GridSearchCV(Lasso(tol=1e-8), grid).fit(X, y)
    known = TheirGrid(Lasso(tol=1e-8), grid).fit(X, y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], known.cv_results_["mean_test_score"], atol=1e-5)
    assert found.best_params_ == known.best_params_


class CountedScaler(StandardScaler):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y=None, sample_weight=None):
        CountedScaler.fits += 1
        return super().fit(X, y, sample_weight)


def test_the_first_steps_of_a_pipeline_are_fitted_once_to_each_split():
    X, y = load_breast_cancer(return_X_y=True)
    CountedScaler.fits = 0
    grid = {"logisticregression__C": [0.1, 1.0, 10.0], "countedscaler__with_mean": [True, False]}
    pipeline = make_pipeline(CountedScaler(), LogisticRegression())
    found = GridSearchCV(pipeline, grid, cv=3, refit=False, n_jobs=1).fit(X, y)
    assert CountedScaler.fits == 2 * 3
    known = TheirGrid(pipeline, grid, cv=3, refit=False).fit(X, y)
    assert_same_table(found.cv_results_, known.cv_results_)


def test_a_function_that_scores_sees_the_pipeline_and_the_rows_as_given():
    X, y = load_iris(return_X_y=True)
    seen = []

    def score(model, rows, labels):
        seen.append((len(model.steps), rows.max()))
        return accuracy_score(labels, model.predict(rows))

    GridSearchCV(
        make_pipeline(StandardScaler(), GaussianNB()),
        {"gaussiannb__var_smoothing": [1e-9, 0.1]},
        scoring=score,
        cv=[(np.arange(150), np.arange(150))],
    ).fit(X, y)
    assert seen == [(2, X.max())] * 2


@pytest.mark.parametrize("pair", PAIRS)
def test_threads_change_no_bit(pair):
    search, _, settings = PAIRS[pair]
    X, y = load_iris(return_X_y=True)
    one, two = (search(SVC(), n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    for key in ("mean_test_score", "params"):
        np.testing.assert_array_equal(one.cv_results_[key], two.cv_results_[key])
    np.testing.assert_array_equal(one.best_estimator_.dual_coef_, two.best_estimator_.dual_coef_)


class PressAt:
    """A callback that presses Ctrl-C, or fails, at the end of a step."""

    def __init__(self, number, error=None):
        self.number, self.error, self.seen = number, error, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        if self.seen == self.number:
            if self.error is not None:
                raise self.error
            signal.raise_signal(signal.SIGINT)
        return False


def test_ctrl_c_keeps_the_settings_that_were_tried():
    X, y = load_diabetes(return_X_y=True)
    search = GridSearchCV(Ridge(), {"alpha": [1e3, 1.0, 1e-3, 1e-6]}).set_callbacks(PressAt(3))
    with pytest.warns(InterruptWarning, match="the last complete state was kept"), pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert [setting["alpha"] for setting in search.cv_results_["params"]] == [1e3, 1.0, 1e-3]
    assert search.best_params_ == {"alpha": 1e-3}
    with pytest.raises(NotFittedError, match="ended by Ctrl-C before the best setting was fitted"):
        search.best_estimator_.predict(X)


def test_max_time_fits_the_best_setting_so_far():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="stopped by max_time after 1 steps"):
        search = GridSearchCV(Ridge(), {"alpha": [10.0, 1.0]}, max_time=0.0).fit(X, y)
    assert len(search.cv_results_["params"]) == 1
    np.testing.assert_array_equal(search.predict(X), Ridge(alpha=10.0).fit(X, y).predict(X))


RESUMED = {
    "chain": lambda: GridSearchCV(RandomForestClassifier(random_state=0), {"n_estimators": [2, 4, 6, 8]}, cv=2),
    "path": lambda: GridSearchCV(Lasso(), {"alpha": [1.0, 0.1, 0.01, 1e-3]}, cv=3),
    "drawn": lambda: RandomizedSearchCV(Ridge(), {"alpha": loguniform(1e-3, 1e3)}, n_iter=6, random_state=2),
    "halving": lambda: HalvingGridSearchCV(
        GaussianNB(), {"var_smoothing": [1e-9, 1e-2, 0.1, 1.0]}, cv=2, random_state=0, factor=2
    ),
}


@pytest.mark.parametrize("case", RESUMED)
def test_a_search_that_failed_goes_on_with_the_same_bits(case, tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "search.checkpoint"
    broken = RESUMED[case]().set_callbacks(Checkpoint(path, every=0), PressAt(3, RuntimeError("killed")))
    with pytest.raises(RuntimeError, match="killed"):
        broken.fit(X, y)
    checkpoint = Checkpoint(path, every=0)
    resumed, whole = RESUMED[case]().set_callbacks(checkpoint).fit(X, y), RESUMED[case]().fit(X, y)
    assert checkpoint.resumed_from_ == 2
    for key in ("mean_test_score", "split1_test_score", "params"):
        np.testing.assert_array_equal(resumed.cv_results_[key], whole.cv_results_[key])
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


def test_a_search_on_other_splits_does_not_go_on(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    path = tmp_path / "search.checkpoint"
    grid = {"alpha": [1.0, 2.0, 3.0]}
    with pytest.raises(RuntimeError):
        GridSearchCV(Ridge(), grid, cv=3).set_callbacks(
            Checkpoint(path, every=0), PressAt(2, RuntimeError("killed"))
        ).fit(X, y)
    with pytest.raises(CheckpointError, match="written by another fit"):
        GridSearchCV(Ridge(), grid, cv=4).set_callbacks(Checkpoint(path)).fit(X, y)


class Fails(ClassifierMixin, BaseEstimator):
    """Fails for some values."""

    def __init__(self, value=0):
        self.value = value

    def fit(self, X, y):
        if self.value > 1:
            raise ValueError("too large")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.value])


def test_fits_that_fail_rank_last_with_a_warning():
    X, y = load_iris(return_X_y=True)
    with (
        pytest.warns(FitFailedWarning, match="5 fits failed out of a total of 15"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search = GridSearchCV(Fails(), {"value": [2, 0, 1]}).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"], [3, 1, 1])
    assert search.best_params_ == {"value": 0}
    with pytest.raises(ValueError, match="All the 5 fits failed"):
        GridSearchCV(Fails(), {"value": [2]}).fit(X, y)


def test_several_scores_and_weights_reach_the_scorers():
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    settings = {"scoring": ["accuracy", "roc_auc"], "refit": "roc_auc", "cv": 3}
    found = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, **settings).fit(X, y, sample_weight=weight)
    known = TheirGrid(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, **settings).fit(X, y, sample_weight=weight)
    assert_same_table(found.cv_results_, known.cv_results_, ("mean_test_accuracy", "std_test_roc_auc"))
    assert set(found.scorer_) == {"accuracy", "roc_auc"}


def test_a_saved_search_predicts_and_shows_its_table(tmp_path):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}).fit(X, y)
    mercer.save(search, tmp_path / "search.mercer")
    loaded = mercer.load(tmp_path / "search.mercer")
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert_same_table(loaded.cv_results_, search.cv_results_)


def test_errors_name_the_parameter():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="GridSearchCV: param_grid must be a dict or a list of dicts; got 3"):
        GridSearchCV(GaussianNB(), 3).fit(X, y)
    with pytest.raises(DataError, match="No fits were performed"):
        GridSearchCV(GaussianNB(), {"var_smoothing": [1.0]}, cv=iter(())).fit(X, y)
    with pytest.raises(ParameterError, match="Cannot use resource=trees"):
        HalvingGridSearchCV(GaussianNB(), {"var_smoothing": [1.0]}, resource="trees", max_resources=3).fit(X, y)
