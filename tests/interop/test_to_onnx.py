"""Models as ONNX graphs: onnxruntime gives the answers of the model to nearly all digits."""

import json
import warnings

import numpy as np
import pytest

import mercer
from mercer.calibration import CalibratedClassifierCV
from mercer.compose import ColumnTransformer
from mercer.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.naive_bayes import GaussianNB
from mercer.pipeline import FeatureUnion, make_pipeline
from mercer.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
from mercer.svm import SVC, LinearSVC
from tests.laws.subjects import outputs, subjects

onnxruntime = pytest.importorskip("onnxruntime")

# The method that each output of a graph answers.
METHODS = {
    "prediction": "predict",
    "probabilities": "predict_proba",
    "scores": "decision_function",
    "transformed": "transform",
}
# Classes of scikit-learn's names that no graph holds: their answers are fits of their own or walks over all rows.
WITHOUT = {
    *("AdditiveChi2Sampler", "AffinityPropagation", "BayesianGaussianMixture", "BisectingKMeans"),
    *("GaussianProcessClassifier", "Isomap", "KNNImputer", "KNeighborsTransformer", "KernelCenterer"),
    *("LabelPropagation", "LabelSpreading", "LocalOutlierFactor", "LocallyLinearEmbedding", "MeanShift"),
    *("MiniBatchNMF", "NMF", "OneVsOneClassifier", "OutputCodeClassifier", "PolynomialCountSketch"),
    *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer", "SplineTransformer"),
    *("SpectralClustering", "SpectralCoclustering", "SpectralBiclustering", "DBSCAN", "HDBSCAN", "OPTICS"),
    *("AgglomerativeClustering", "SpectralEmbedding", "TSNE", "MDS", "ClassicalMDS", "IterativeImputer"),
    *("DictionaryLearning", "MiniBatchDictionaryLearning", "SparsePCA", "MiniBatchSparsePCA", "SparseCoder"),
    *("LatentDirichletAllocation", "TunedThresholdClassifierCV", "Birch"),
}
PREDICTING = [
    subject for subject in subjects() if any(hasattr(subject.estimator, name) for name in ("predict", "transform"))
]


def run_graph(graph, X):
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(X, dtype=float)})))


def compare(model, X):
    """Assert that the graph of a model answers as the model does."""
    wanted = outputs(model, X)
    for name, got in run_graph(mercer.to_onnx(model), X).items():
        one = wanted[METHODS[name]]
        if one.dtype.kind in "OU":
            assert (one == got).all(), name
            continue
        size = max(1.0, float(np.nanmax(np.abs(one.astype(float)), initial=0.0)))
        np.testing.assert_allclose(got.astype(float), one.astype(float), rtol=0, atol=1e-9 * size, err_msg=name)


@pytest.mark.parametrize("subject", PREDICTING, ids=repr)
def test_the_graph_answers_as_the_model_or_the_refusal_says_why(subject):
    X, y = subject.data(60, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make().fit(X, y)
        refused = ""
        try:
            mercer.to_onnx(model)
        except DataError as error:
            refused = str(error)
        if refused:
            assert refused.startswith(f"to_onnx: {subject.name} cannot be written: ")
            return
        compare(model, X)


def test_every_predictor_and_transformer_of_scikit_learns_name_has_a_graph_in_some_setting():
    from mercer.interop._onnx.writing import find_writer
    from mercer.interop._scikit.conversion import find_counterpart

    known = {subject.name: subject for subject in PREDICTING if find_counterpart(subject.estimator) is not None}
    absent = {name for name, subject in known.items() if find_writer(subject.make()) is None}
    assert absent - WITHOUT == set()
    assert WITHOUT & set(known) - absent <= {"BayesianGaussianMixture", "BisectingKMeans"}


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    return X, X[:, 0] - 2 * X[:, 1] ** 2, np.array(["ash", "birch", "cedar"])[rng.integers(0, 3, 80)]


def test_pipelines_and_combinations_have_graphs():
    X, y, labels = make_rows()
    union = FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())], transformer_weights={"b": 2.0})
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", "passthrough", [3])])
    for model, target in (
        (make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()), y),
        (make_pipeline(union, LogisticRegression()), labels),
        (make_pipeline(columns, RandomForestClassifier(5, random_state=0)), labels),
        (CalibratedClassifierCV(GaussianNB(), cv=3), labels),
        (CalibratedClassifierCV(LinearSVC(), cv=3), labels == "ash"),
        (mercer.model_selection.GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3), y),
        (SVC(kernel="poly", gamma=0.3, coef0=1.0), labels),
    ):
        compare(model.fit(X, target), X)


def test_gaps_go_where_the_trees_send_them():
    X, y, _ = make_rows()
    X[::3, 1] = np.nan
    compare(HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3).fit(X, y), X)


def test_categories_that_are_numbers_are_matched_and_unknown_ones_follow_the_rule():
    X = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 5.0]])
    new = np.array([[2.0, 7.0], [9.0, 5.0]])
    for encoder in (
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ):
        encoder.fit(X)
        np.testing.assert_array_equal(run_graph(mercer.to_onnx(encoder), new)["transformed"], encoder.transform(new))


def test_labels_keep_their_type_and_the_classes_stand_in_the_metadata():
    X, _, labels = make_rows()
    graph = mercer.to_onnx(LogisticRegression().fit(X, labels))
    assert json.loads({one.key: one.value for one in graph.metadata_props}["classes"]) == ["ash", "birch", "cedar"]
    numbers = run_graph(mercer.to_onnx(LogisticRegression().fit(X, np.where(labels == "ash", 7, 3))), X)
    assert numbers["prediction"].dtype == np.int64
    assert set(numbers["prediction"]) == {3, 7}


def test_far_from_zero_the_digits_are_kept():
    X, _, _ = make_rows()
    moved = X + 1e8
    compare(StandardScaler().fit(moved), moved)


def test_a_model_without_a_graph_says_why():
    X, _, _ = make_rows()
    with pytest.raises(
        DataError, match=r"NMF cannot be written: no writer knows the class NMF\. mercer\.save keeps any"
    ):
        mercer.to_onnx(mercer.decomposition.NMF(2).fit(np.abs(X)))
