"""Models as objects of scikit-learn's own classes: the same answers, without mercer."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import mercer
from mercer.calibration import CalibratedClassifierCV
from mercer.compose import ColumnTransformer, TransformedTargetRegressor
from mercer.errors import DataError
from mercer.feature_extraction.text import TfidfVectorizer
from mercer.interop._scikit.conversion import find_counterpart
from mercer.isotonic import IsotonicRegression
from mercer.linear_model import LogisticRegression, Ridge
from mercer.multioutput import ClassifierChain, MultiOutputClassifier
from mercer.naive_bayes import GaussianNB
from mercer.pipeline import FeatureUnion, make_pipeline
from mercer.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from mercer.tree import DecisionTreeRegressor
from tests.laws.subjects import outputs, subjects

SUBJECTS = [subject for subject in subjects() if find_counterpart(subject.estimator) is not None]
# Settings that scikit-learn's class does not have, by the words of the refusal.
REFUSED = {
    "algorithm='real'": "discrete AdaBoost alone",
    "visible='gaussian'": "visible units are gaussian",
    "solver='inducing'": "inducing points",
    "kernel='rbf', gamma=0.01)": "takes kernel matrices",
    "multi_class=": "pairs of classes",
    **{f"method='{name}'": "scikit-learn has no method" for name in ("beta", "dirichlet", "venn_abers")},
    "bandwidth='normal_reference'": "a bandwidth of its own",
    "metric='manhattan'": "another constant of densities",
}
# Answers that are another question there, or are drawn anew for each call, or that its class does not have.
OTHER = {
    ("NearestCentroid", "predict_proba"): "priors are counted otherwise",
    ("NearestCentroid", "decision_function"): "priors are counted otherwise",
    ("BernoulliRBM", "score_samples"): "a unit of each row is drawn",
    ("LinearDiscriminantAnalysis(solver='lsqr')", "transform"): "solver='lsqr' has no transform",
    ("LocallyLinearEmbedding", "transform"): "rows of the fit are their own neighbours there",
}
# Answers that another solver finds up to its tolerance, or that another formula approximates.
TOLERANCES = {
    "NMF": 0.02,
    "MiniBatchNMF": 0.02,
    "GaussianProcessClassifier": 1e-3,
    "DictionaryLearning": 1e-6,
    "MiniBatchDictionaryLearning": 1e-6,
    "LatentDirichletAllocation": 1e-6,
}


def is_refused(subject):
    """The words with which a setting is refused; None if it is converted."""
    named = repr(subject)
    if subject.name == "IterativeImputer":
        return "rounds of regressions"
    classes = ("KernelDensity", "KernelCenterer", "SVC", "AdaBoostClassifier", "BernoulliRBM", "CalibratedClassifierCV")
    if subject.name not in classes:
        return "inducing points" if "inducing" in named else None
    return next((why for words, why in REFUSED.items() if words in named), None)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_the_converted_model_answers_the_same_and_holds_nothing_of_mercer(subject):
    X, y = subject.data(60, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make().fit(X, y)
        why = is_refused(subject)
        if why is not None:
            with pytest.raises(DataError, match=why):
                mercer.to_sklearn(model)
            return
        theirs = mercer.to_sklearn(model)
        assert type(theirs).__module__.startswith("sklearn.")
        assert b"mercer" not in pickle.dumps(theirs)
        # Rows that no fit has seen, of the same kind.
        rows = X[::2].copy()
        for method, wanted in outputs(model, rows).items():
            left_out = (subject.name, method) in OTHER or (repr(subject), method) in OTHER
            if left_out or not hasattr(theirs, method):
                continue
            got = getattr(theirs, method)(rows)
            got = got.toarray() if hasattr(got, "toarray") else np.asarray(got)
            if wanted.dtype.kind in "OU":
                assert (wanted == got).all(), method
                continue
            size = max(1.0, float(np.nanmax(np.abs(wanted.astype(float)), initial=0.0)))
            close = TOLERANCES.get(subject.name, 1e-9) * size
            np.testing.assert_allclose(got.astype(float), wanted.astype(float), rtol=0, atol=close, err_msg=method)


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 4))
    return X, X[:, 0] - 2 * X[:, 1] ** 2, np.array(["ash", "birch", "cedar"])[rng.integers(0, 3, 90)]


def test_models_inside_pipelines_searches_and_combinations_are_converted():
    X, y, labels = make_rows()
    joined = FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())])
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", "passthrough", [2])])
    several = np.column_stack([labels == "ash", labels == "birch"]).astype(int)
    models = [
        (make_pipeline(StandardScaler(), Ridge()), y),
        (make_pipeline(joined, Ridge()), y),
        (make_pipeline(columns, LogisticRegression()), labels),
        (mercer.model_selection.GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3), y),
        (CalibratedClassifierCV(GaussianNB(), cv=3), labels),
        (CalibratedClassifierCV(GaussianNB(), cv=3, method="isotonic"), labels),
        (TransformedTargetRegressor(Ridge(), transformer=StandardScaler()), y),
        (MultiOutputClassifier(GaussianNB()), several),
        (ClassifierChain(LogisticRegression()), several),
    ]
    for model, target in models:
        fitted = clone(model).fit(X, target)
        theirs = mercer.to_sklearn(fitted)
        assert b"mercer" not in pickle.dumps(theirs), model
        wanted, got = np.asarray(fitted.predict(X)), np.asarray(theirs.predict(X))
        if wanted.dtype.kind in "OU":
            assert (wanted == got).all(), model
        else:
            np.testing.assert_allclose(got.astype(float), wanted.astype(float), atol=1e-9, err_msg=str(model))


def test_texts_categories_and_curves_of_one_column_are_converted():
    texts = ["a tall ash", "a small ash", "birch and cedar", "the cedar"]
    words = TfidfVectorizer().fit(texts)
    theirs = mercer.to_sklearn(words)
    assert b"mercer" not in pickle.dumps(theirs)
    np.testing.assert_allclose(theirs.transform(texts).toarray(), words.transform(texts).toarray(), atol=1e-12)
    table = np.array([["ash", "x"], ["birch", "y"], ["ash", "y"]], dtype=object)
    encoder = OneHotEncoder(handle_unknown="ignore").fit(table)
    new = np.array([["birch", "z"]], dtype=object)
    np.testing.assert_array_equal(mercer.to_sklearn(encoder).transform(new).toarray(), encoder.transform(new).toarray())
    x = np.random.default_rng(1).normal(size=40)
    curve = IsotonicRegression(out_of_bounds="clip").fit(x, x + 0.1 * np.sin(9 * x))
    np.testing.assert_allclose(mercer.to_sklearn(curve).predict(x * 2), curve.predict(x * 2), atol=1e-12)


def test_a_converted_model_is_independent_of_the_first():
    X, y, _ = make_rows()
    model = Ridge().fit(X, y)
    theirs = mercer.to_sklearn(model)
    theirs.coef_[:] = 0.0
    assert model.coef_.any()
    assert isinstance(clone(theirs).fit(X, y), BaseEstimator)


def test_what_is_no_model_or_has_no_counterpart_is_refused():
    X, y, _ = make_rows()
    with pytest.raises(DataError, match="model must be a fitted estimator; got str"):
        mercer.to_sklearn("Ridge")
    with pytest.raises(DataError, match="scikit-learn has no class of this name"):
        mercer.to_sklearn(mercer.cluster.KMedoids(2).fit(X))
    categories = DecisionTreeRegressor(categorical_features=[0], max_depth=2)
    rows = np.column_stack([np.arange(90) % 5, X[:, 1]]).astype(float)
    with pytest.raises(DataError, match="split by categories"):
        mercer.to_sklearn(categories.fit(rows, (rows[:, 0] % 2) * 5.0 + 0.1 * y))
