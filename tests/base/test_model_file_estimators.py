"""Model files: fitted scikit-learn models come back whole, and say the same."""

import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import sklearn
from sklearn import (
    calibration,
    compose,
    dummy,
    ensemble,
    feature_selection,
    impute,
    isotonic,
    linear_model,
    multiclass,
    multioutput,
    pipeline,
    preprocessing,
    svm,
)
from sklearn import model_selection as selection
from sklearn.callback import ScoringMonitor
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.frozen import FrozenEstimator

import mercer
from mercer._base.model_file import load_plain, save_plain
from mercer._base.model_file.registry import class_of, function_of, key_of_class
from mercer.errors import ModelFileError
from tests.base.model_file_workshop import assert_same, rewrite_header

X = np.random.default_rng(0).random((60, 4))
Y = (X[:, 0] + 0.3 * np.random.default_rng(1).random(60) > 0.6).astype(int)
TARGET = X @ [1.0, -2.0, 0.5, 0.0] + 1
HOLES = np.where(X > 0.9, np.nan, X)
FRAME = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "u", "v"), "c": pd.Categorical(["x", "y", "z"] * 20)})
LOGISTIC = linear_model.LogisticRegression
RIDGE = linear_model.Ridge

PREPROCESSORS = [
    *(preprocessing.Binarizer(), preprocessing.FunctionTransformer(), preprocessing.FunctionTransformer(np.log1p)),
    *(preprocessing.KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), preprocessing.MaxAbsScaler()),
    *(preprocessing.MinMaxScaler(), preprocessing.Normalizer(), preprocessing.PolynomialFeatures()),
    *(
        preprocessing.PowerTransformer(),
        preprocessing.QuantileTransformer(n_quantiles=10, random_state=np.random.RandomState(0)),
    ),
    *(preprocessing.RobustScaler(), preprocessing.SplineTransformer(), preprocessing.StandardScaler()),
    *(feature_selection.SelectKBest(k=2), feature_selection.SelectFdr(feature_selection.chi2, alpha=0.9)),
    *(feature_selection.SelectFpr(), feature_selection.SelectFwe(), feature_selection.GenericUnivariateSelect()),
    *(feature_selection.SelectPercentile(feature_selection.mutual_info_classif), feature_selection.VarianceThreshold()),
    *(feature_selection.RFE(LOGISTIC()), feature_selection.RFECV(LOGISTIC(), cv=3)),
    *(feature_selection.SelectFromModel(LOGISTIC()), pipeline.FeatureUnion([("a", preprocessing.StandardScaler())])),
    feature_selection.SequentialFeatureSelector(LOGISTIC(), n_features_to_select=1, cv=2),
]
IMPUTERS = [
    *(impute.SimpleImputer(add_indicator=True), impute.KNNImputer(), impute.MissingIndicator(features="all")),
    *(impute.IterativeImputer(max_iter=2, random_state=0, sample_posterior=True),),
]
ENCODERS = [
    *(preprocessing.OneHotEncoder(max_categories=2), preprocessing.OrdinalEncoder(dtype=np.float32)),
    *(preprocessing.TargetEncoder(random_state=0), impute.SimpleImputer(strategy="most_frequent")),
    compose.ColumnTransformer(
        [
            ("scale", preprocessing.StandardScaler(), ["a"]),
            ("code", preprocessing.OneHotEncoder(sparse_output=False), compose.make_column_selector(pattern="b")),
        ],
        remainder="drop",
    ).set_output(transform="pandas"),
]
GRID = {"alpha": [0.1, 1.0]}
LISTED_SPLITS = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
SEARCHES = [
    selection.GridSearchCV(RIDGE(), GRID, cv=LISTED_SPLITS),
    selection.GridSearchCV(RIDGE(), GRID, scoring="r2", cv=selection.RepeatedKFold(n_repeats=2, random_state=0)),
    selection.GridSearchCV(RIDGE(), GRID, scoring=["r2", "neg_mean_absolute_error"], refit="r2", cv=selection.KFold(2)),
    selection.RandomizedSearchCV(RIDGE(), {"alpha": scipy.stats.loguniform(0.1, 1)}, n_iter=2, cv=2, random_state=0),
    selection.RandomizedSearchCV(RIDGE(), {"max_iter": scipy.stats.randint(5, high=9)}, n_iter=2, cv=2),
    selection.HalvingGridSearchCV(RIDGE(), GRID, cv=2),
    selection.GridSearchCV(
        pipeline.Pipeline([("step", "passthrough"), ("ridge", RIDGE())]),
        {"step": [preprocessing.StandardScaler(), "passthrough"]},
        cv=2,
    ),
]
REGRESSORS = [
    *(dummy.DummyRegressor(), linear_model.LinearRegression(), linear_model.BayesianRidge(), linear_model.RidgeCV()),
    *(svm.LinearSVR(), compose.TransformedTargetRegressor(transformer=preprocessing.StandardScaler())),
    *(compose.TransformedTargetRegressor(func=np.sinh, inverse_func=np.arcsinh), FrozenEstimator(RIDGE())),
    *(ensemble.VotingRegressor([("a", RIDGE())]), ensemble.StackingRegressor([("a", RIDGE())])),
]
CLASSIFIERS = [
    *(dummy.DummyClassifier(), LOGISTIC(), svm.LinearSVC(), selection.FixedThresholdClassifier(LOGISTIC())),
    *(
        calibration.CalibratedClassifierCV(LOGISTIC(), method=how, cv=2)
        for how in ("sigmoid", "isotonic", "temperature")
    ),
    *(ensemble.VotingClassifier([("a", LOGISTIC())]), ensemble.StackingClassifier([("a", LOGISTIC())], cv=2)),
    *(multiclass.OneVsRestClassifier(LOGISTIC()), multiclass.OneVsOneClassifier(LOGISTIC())),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def fitted(model, *data):
    model = sklearn.base.clone(model) if not isinstance(model, FrozenEstimator) else FrozenEstimator(RIDGE().fit(*data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def again(model, path):
    mercer.save(model, path)
    return mercer.load(path)


def assert_survives(model, path, rows, *methods):
    loaded = again(model, path)
    first = path.read_bytes()
    for method in methods:
        one, other = getattr(model, method)(rows), getattr(loaded, method)(rows)
        one, other = (item.toarray() if hasattr(item, "toarray") else item for item in (one, other))
        assert type(one) is type(other)
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    mercer.save(mercer.load(path), path)
    assert path.read_bytes() == first


# Truth


@pytest.mark.parametrize("model", PREPROCESSORS, ids=lambda model: type(model).__name__)
def test_a_preprocessor_transforms_alike(model, path):
    assert_survives(fitted(model, X, Y), path, X, "transform")


@pytest.mark.parametrize("model", IMPUTERS, ids=lambda model: type(model).__name__)
def test_an_imputer_fills_alike(model, path):
    assert_survives(fitted(model, HOLES, Y), path, HOLES, "transform")


@pytest.mark.parametrize("model", ENCODERS, ids=lambda model: type(model).__name__)
def test_an_encoder_of_a_frame_transforms_alike(model, path):
    rows = FRAME if isinstance(model, compose.ColumnTransformer) else FRAME[["b", "c"]]
    model = fitted(model, rows, Y)
    assert_survives(model, path, rows, "transform")
    assert again(model, path).get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("model", REGRESSORS + SEARCHES, ids=lambda model: type(model).__name__)
def test_a_regressor_and_a_search_predict_alike(model, path):
    assert_survives(fitted(model, X, TARGET), path, X, "predict")


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_a_classifier_predicts_alike(model, path):
    methods = [name for name in ("predict", "predict_proba", "decision_function") if hasattr(model, name)]
    assert_survives(fitted(model, X, Y), path, X, *methods)


def test_models_of_other_inputs_survive(path):
    labels = preprocessing.LabelEncoder().fit(["b", "a"])
    np.testing.assert_array_equal(again(labels, path).transform(["a", "b"]), [0, 1])
    sets = preprocessing.MultiLabelBinarizer().fit([{"a"}, {"b", "a"}])
    np.testing.assert_array_equal(again(sets, path).transform([{"b"}]), [[0, 1]])
    assert_survives(preprocessing.LabelBinarizer().fit([1, 2, 3]), path, [3, 1], "transform")
    assert_survives(preprocessing.KernelCenterer().fit(X @ X.T), path, X @ X.T, "transform")
    assert_survives(isotonic.IsotonicRegression().fit(X[:, 0], TARGET), path, X[:, 0], "predict")
    both = np.column_stack([TARGET, -TARGET])
    assert_survives(multioutput.MultiOutputRegressor(RIDGE()).fit(X, both), path, X, "predict")


def test_a_search_keeps_its_results_scorer_and_splits(path):
    search = fitted(SEARCHES[1], X, TARGET)
    loaded = again(search, path)
    assert_same(loaded.cv_results_, search.cv_results_)
    assert loaded.score(X, TARGET) == search.score(X, TARGET)
    assert [test.tolist() for _, test in loaded.cv.split(X)] == [test.tolist() for _, test in search.cv.split(X)]


@pytest.mark.parametrize(
    "splitter",
    [
        *(selection.KFold(3, shuffle=True, random_state=1), selection.StratifiedKFold(), selection.GroupKFold()),
        *(selection.LeaveOneOut(), selection.LeavePOut(2), selection.LeaveOneGroupOut(), selection.LeavePGroupsOut(2)),
        *(selection.ShuffleSplit(2, random_state=0), selection.StratifiedShuffleSplit(2), selection.TimeSeriesSplit()),
        *(selection.PredefinedSplit([0, 1, 0]), selection.RepeatedStratifiedKFold(), selection.StratifiedGroupKFold()),
        selection.GroupShuffleSplit(),
    ],
    ids=lambda splitter: type(splitter).__name__,
)
def test_a_splitter_survives(splitter, path):
    save_plain(splitter, path)
    assert_same(load_plain(path), splitter)


# Invariance


def test_an_unfitted_model_survives_as_unfitted(path):
    loaded = again(pipeline.make_pipeline(preprocessing.StandardScaler(with_mean=False), RIDGE(alpha=3)), path)
    assert loaded.get_params()["ridge__alpha"] == 3
    assert loaded.fit(X, TARGET).predict(X).shape == (60,)


def test_the_output_container_and_metadata_requests_survive(path):
    model = preprocessing.StandardScaler().fit(FRAME[["a"]]).set_output(transform="pandas")
    assert isinstance(again(model, path).transform(FRAME[["a"]]), pd.DataFrame)
    with sklearn.config_context(enable_metadata_routing=True):
        model = RIDGE().set_fit_request(sample_weight=True).set_score_request(sample_weight="weight")
        loaded = again(model, path)
        assert repr(loaded.get_metadata_routing()) == repr(model.get_metadata_routing())


def test_callbacks_are_not_part_of_the_model(path):
    model = linear_model.LogisticRegression().set_callbacks(ScoringMonitor(scoring="accuracy"))
    assert "_skl_callbacks" not in vars(again(model, path))
    assert "_skl_callbacks" in vars(model)


# Edges


class Versioned(sklearn.base.BaseEstimator):
    """A class that called its parameter `old` in version 1."""

    _file_version = 2

    def __init__(self, new=1):
        self.new = new

    @classmethod
    def _migrate(cls, state, version):
        assert version == 1
        return {"new": state.pop("old"), **state}


@pytest.fixture
def versioned(monkeypatch):
    home = "mercer._base.model_file.estimator"
    monkeypatch.setattr(f"{home}.class_of", lambda key: Versioned)
    monkeypatch.setattr(f"{home}.key_of_class", lambda cls: "mercer.cluster.Versioned" if cls is Versioned else None)
    return Versioned(5)


def test_a_class_migrates_the_state_of_its_older_versions(versioned, path):
    def age(header):
        header["model"].update(version=1, params={}, state={"old": 7})

    save_plain(versioned, path)
    rewrite_header(path, age)
    assert vars(load_plain(path)) == {"new": 7}
    rewrite_header(path, lambda header: header["model"].update(version=3))
    with pytest.raises(
        ModelFileError, match=r"Versioned has file versions in \[1, 2\]; got 3\. Install a newer mercer\."
    ):
        load_plain(path)


def test_a_parameter_of_mercers_that_the_file_lacks_is_an_error(versioned, path):
    save_plain(versioned, path)
    rewrite_header(path, lambda header: header["model"].update(params={}))
    with pytest.raises(ModelFileError, match=r"mercer.cluster.Versioned must have the parameter new"):
        load_plain(path)


def test_a_parameter_that_scikit_learn_has_gained_takes_its_default(path):
    mercer.save(preprocessing.StandardScaler(with_std=False), path)
    rewrite_header(path, lambda header: header["model"]["params"].pop("with_mean"))
    assert mercer.load(path).get_params() == {"copy": True, "with_mean": True, "with_std": False}
    rewrite_header(path, lambda header: header["model"]["params"].update(gone=1))
    with pytest.raises(
        ModelFileError, match="StandardScaler has parameters copy, with_mean, with_std; the file also has gone"
    ):
        mercer.load(path)


# Errors


def test_a_function_of_the_users_own_is_refused_naming_its_place(path):
    model = compose.ColumnTransformer([("mine", preprocessing.FunctionTransformer(lambda rows: rows), [0])])
    expected = (
        r"save: ColumnTransformer\.transformers\[0\]\[1\]\.func is a function \(<lambda>\); "
        r"model files hold plain data only\. Use a registered transformer, or pickle if you trust every reader\."
    )
    with pytest.raises(ModelFileError, match=expected):
        mercer.save(model, path)


def test_a_cache_folder_is_refused_both_ways(path):
    model = pipeline.make_pipeline(RIDGE(), memory="folder")
    with pytest.raises(ModelFileError, match=r"save: Pipeline\.memory must be None; a cache is not part of a model"):
        mercer.save(model, path)
    mercer.save(model.set_params(memory=None), path)
    rewrite_header(path, lambda header: header["model"]["params"].update(memory="folder"))
    with pytest.raises(ModelFileError, match=r"sklearn\.pipeline\.Pipeline\.memory must be None"):
        mercer.load(path)


def test_a_scorer_of_the_users_own_is_refused(path):
    scorer = sklearn.metrics.make_scorer(sklearn.metrics.fbeta_score, beta=3)
    with pytest.raises(ModelFileError, match=r"save: GridSearchCV\.scoring is of class sklearn\.metrics"):
        mercer.save(selection.GridSearchCV(RIDGE(), GRID, scoring=scorer), path)


@pytest.mark.parametrize(
    "key",
    [
        *("os.system", "builtins.eval", "sklearn.base.clone", "sklearn.pipeline.make_pipeline", "mercer.app.main"),
        *("mercer.cluster.np", "mercer.cluster.__name__", "mercer.cluster.KMeans.fit", "mercer._base.Estimator"),
        *("numpy.load", "", ".", "sklearn.preprocessing", "mercer.cluster.", None, 3, ["os.system"]),
    ],
)
def test_a_key_outside_the_registry_has_no_meaning(key):
    with pytest.raises(ModelFileError, match=r"classes come from mercer's registry; .* is not in it"):
        class_of(key)
    with pytest.raises(ModelFileError, match=r"functions come from mercer's registry; .* is not in it"):
        function_of(key)


def test_mercers_own_classes_are_the_estimators_that_a_family_lists(monkeypatch):
    family = types.ModuleType("mercer.cluster")
    family.Listed = type("Listed", (sklearn.base.BaseEstimator,), {"__module__": "mercer.cluster.listed"})
    family.Hidden = type("Hidden", (sklearn.base.BaseEstimator,), {"__module__": "mercer.cluster.hidden"})
    family.function, family.Strange = print, type("Strange", (), {})
    family.__all__ = ["Listed", "function", "Strange"]
    monkeypatch.setitem(sys.modules, "mercer.cluster", family)
    assert class_of("mercer.cluster.Listed") is family.Listed
    assert key_of_class(family.Listed) == "mercer.cluster.Listed"
    assert key_of_class(family.Hidden) is None
    for name in ("Hidden", "function", "Strange", "inner.Listed"):
        with pytest.raises(ModelFileError, match="classes come from mercer's registry"):
            class_of(f"mercer.cluster.{name}")


def test_every_registered_class_has_the_key_it_is_found_by():
    from mercer._base.model_file.registry import _CLASS_KEYS, PART_MAKERS

    for key in (*_CLASS_KEYS, *PART_MAKERS):
        assert key_of_class(class_of(key)) == key
