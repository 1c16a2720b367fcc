"""Forged model files with right checksums: what native code would follow out of its arrays is refused when loaded."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer._base.model_file.container import write_container
from mercer.cluster import HDBSCAN, AgglomerativeClustering, KernelKMeans, KMeans, PrototypeAgglomeration
from mercer.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from mercer.errors import DataError, MemoryForecastError, ModelFileError
from mercer.hmm import SemiMarkovHMM
from mercer.kernel_approximation import RBFNetworkClassifier
from mercer.linear_model import BayesianRidge, LogisticRegression
from mercer.manifold import TSNE
from mercer.mixture import GaussianMixture
from mercer.naive_bayes import GaussianNB
from mercer.neighbors import HistogramDensity, KernelDensity, KNeighborsClassifier
from mercer.neural_network import MLPClassifier
from mercer.preprocessing import FourierBasis, PolynomialBasis, SplineBasis
from mercer.random_projection import SparseRandomProjection
from mercer.svm import SVC
from mercer.tree import DecisionTreeClassifier, MultiwayTreeClassifier
from tools.fuzzing.files.forgery import Original, forge
from tools.fuzzing.files.outcome import try_file

X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.where(X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=60) > 0, "yes", "no")


def forge_array(model, attribute, change, path):
    """Write the file of a model in which one array, found by its attribute or field, is changed."""
    original = Original(model)
    header, arrays = copy.deepcopy(original.header), list(original.arrays)
    index = _find_index(header["model"], attribute)
    arrays[index] = np.ascontiguousarray(change(arrays[index].copy()))
    write_container(path, header, arrays)


def _find_index(node, name):
    """Return the number of the first array that the header stores under `name`."""
    if isinstance(node, list):
        return next((index for item in node if (index := _find_index(item, name)) is not None), None)
    if not isinstance(node, dict):
        return None
    value = node.get(name)
    if isinstance(value, dict) and value.get("type") == "array":
        return value["index"]
    return next((index for item in node.values() if (index := _find_index(item, name)) is not None), None)


def put(place, value):
    """Return a function that sets one entry of an array."""

    def change(array):
        array.reshape(-1)[place] = value
        return array

    return change


def shorten(array):
    return array[:-1]


THREE = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))
TREE = DecisionTreeClassifier(random_state=0).fit(X, Y)
BOOSTED = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(X, Y)
FORGERIES = [
    (TREE, "children_right", put(0, 0)),
    (TREE, "children_right", put(0, 10**6)),
    (TREE, "children_right", shorten),
    (TREE, "children_left", put(0, 2)),
    (TREE, "feature", put(0, 4)),
    (TREE, "feature", shorten),
    (TREE, "missing_go_to_left", put(0, 3)),
    (TREE, "threshold", lambda array: array.astype(np.int64)),
    (TREE, "value", lambda array: array[:, :, :1]),
    (RandomForestClassifier(3, random_state=0).fit(X, Y), "children_right", put(0, 1)),
    (GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 1]), "feature", put(0, 100)),
    (BOOSTED, "left", put(0, 10**6)),
    (BOOSTED, "left", put(0, 2)),
    (BOOSTED, "left", lambda array: array.astype(np.int64)),
    (BOOSTED, "feature", put(0, 50)),
    (BOOSTED, "goes_left", lambda array: array[:1]),
    (BOOSTED, "edges", lambda array: array[:, :-1]),
    (HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(X, THREE), "classes_", shorten),
    (AdaBoostClassifier(n_estimators=5).fit(X, Y), "features", put(0, 4)),
    (AdaBoostClassifier(n_estimators=5).fit(X, Y), "votes", shorten),
    (KernelDensity().fit(X), "bounds", put(0, -(2**31))),
    (KernelDensity().fit(X), "bounds", lambda array: np.concatenate([array, array[-1:]])),
    (KernelDensity().fit(X), "data", shorten),
    (HDBSCAN(min_cluster_size=5).fit(X), "single_linkage_tree_", put(5, np.nan)),
    (HDBSCAN(min_cluster_size=5).fit(X), "single_linkage_tree_", put(0, 1e9)),
    (KMeans(3, random_state=0).fit(X), "cluster_centers_", lambda array: array[:, :-1]),
    (GaussianMixture(2, random_state=0).fit(X), "precisions_cholesky_", lambda array: array[:, :, :-1]),
    (GaussianNB().fit(X, Y), "theta_", shorten),
    (SVC().fit(X, Y), "support_vectors_", shorten),
    (SVC().fit(X, Y), "n_support_", put(0, 2**31 - 1)),
    (LogisticRegression().fit(X, Y), "coef_", lambda array: array[:, :-1]),
    (IsolationForest(n_estimators=3, random_state=0).fit(X), "rights", put(0, 10**6)),
    (IsolationForest(n_estimators=3, random_state=0).fit(X), "rights", put(0, 1)),
    (IsolationForest(n_estimators=3, random_state=0).fit(X), "features", put(0, 4)),
    (IsolationForest(n_estimators=3, random_state=0).fit(X), "sizes", put(0, 1)),
    (MultiwayTreeClassifier().fit(X, Y), "parent", put(1, 10**6)),
    (MLPClassifier((3,), max_iter=20, tol=1.0, random_state=0).fit(X, Y), "classes_", lambda array: array[:0]),
    (KNeighborsClassifier().fit(X, Y), "_codes", put(0, 7)),
    (HistogramDensity(bins=3).fit(X), "bins_", put(0, 9)),
    (KernelKMeans(2, random_state=0).fit(X), "offsets_", shorten),
    (AgglomerativeClustering(2).fit(X), "exemplars_", shorten),
    (RBFNetworkClassifier(5, random_state=0).fit(X, Y), "classes_", lambda array: array[:0]),
    (PolynomialBasis().fit(X), "exponents_", put(0, 2**31 - 1)),
    (SplineBasis(n_knots=5).fit(X), "knots_", shorten),
    (SemiMarkovHMM(2, max_duration=4, random_state=0).fit(X), "startprob_", lambda array: array[:0]),
]


@pytest.mark.parametrize(
    ("model", "attribute", "change"), FORGERIES, ids=[f"{type(one[0]).__name__}-{one[1]}" for one in FORGERIES]
)
def test_arrays_that_do_not_fit_together_are_refused_by_name(model, attribute, change, tmp_path):
    path = tmp_path / "model.mercer"
    mercer.save(model, path)
    mercer.load(path)
    forge_array(model, attribute, change, path)
    with pytest.raises(ModelFileError, match=r"load: .*must"):
        mercer.load(path)


def test_parameters_out_of_their_range_are_refused(tmp_path):
    path = tmp_path / "model.mercer"
    model = SplineBasis().fit(X)
    model.degree = 2**40
    mercer.save(model, path)
    with pytest.raises(ModelFileError, match=r"SplineBasis.degree must be .*; the file has 1099511627776"):
        mercer.load(path)


FUZZED = [
    TREE,
    BOOSTED,
    KMeans(3, random_state=0).fit(X),
    IsolationForest(n_estimators=3, random_state=0).fit(X),
    KernelDensity().fit(X),
    SVC().fit(X, Y),
    LogisticRegression().fit(X, Y),
]


# The short part of `make fuzz`: the same forgeries at every run.
@pytest.mark.parametrize("model", FUZZED, ids=lambda model: type(model).__name__)
def test_forged_files_are_refused_or_answered_and_never_crash(model, tmp_path):
    original, path = Original(model), tmp_path / "model.mercer"
    outcomes = set()
    for seed in range(60):
        change = forge(original, seed, path)
        outcomes.add(outcome := try_file(path, X[:5]))
        assert not outcome.startswith("raw"), change
    assert "refused" in outcomes


def test_pointers_of_a_sparse_array_that_fall_are_refused(tmp_path):
    # SciPy's own check passes over them if the last pointer is zero, and its products then read beyond the arrays.
    model = SparseRandomProjection(3, density=0.5, random_state=0).fit(X)
    original, path = Original(model), tmp_path / "model.mercer"
    pointers = next(index for index, array in enumerate(original.arrays) if array.dtype.kind == "i" and array.size == 4)
    original.arrays[pointers][-1] = 0
    write_container(path, original.header, original.arrays)
    with pytest.raises(ModelFileError, match="the indices of a sparse array must fit its shape"):
        mercer.load(path)


def test_a_number_of_waves_beyond_memory_is_a_sentence(tmp_path):
    original, path = Original(FourierBasis().fit(X)), tmp_path / "model.mercer"
    original.header["model"]["params"]["n_frequencies"] = 2**40
    write_container(path, original.header, original.arrays)
    with pytest.raises(MemoryForecastError, match=r"FourierBasis: .* values of a row .*lower n_frequencies"):
        mercer.load(path).transform(X)


def test_classes_that_the_nodes_of_a_tree_do_not_count_are_refused(tmp_path):
    path = tmp_path / "model.mercer"
    for model in (DecisionTreeClassifier(random_state=0), RandomForestClassifier(2, random_state=0)):
        forge_array(model.fit(X, np.repeat(["a", "b", "c"], 20)), "classes_", shorten, path)
        with pytest.raises(ModelFileError, match="classes_ must be the classes that its nodes count, 3 of 1 outputs"):
            mercer.load(path)


def test_parts_that_only_rare_methods_read_are_refused_or_end_in_a_sentence(tmp_path):
    path = tmp_path / "model.mercer"
    forge_array(BayesianRidge().fit(X, X[:, 0]), "along", lambda along: along[:0], path)
    with pytest.raises(ModelFileError, match=r"LinearSpectrum.along must have the shape \(rank = 4, targets\)"):
        mercer.load(path)
    original = Original(RandomForestClassifier(n_estimators=2, random_state=0).fit(X, Y))
    header = copy.deepcopy(original.header)
    header["model"]["state"]["_n_drawn"] = 2**53
    write_container(path, header, original.arrays)
    with pytest.raises(MemoryForecastError, match="RandomForestClassifier: the rows of every tree"):
        _ = mercer.load(path).estimators_samples_
    model = GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 1])
    forge_array(model, "value", lambda value: value.astype(np.float16), path)
    with pytest.raises(ModelFileError, match=r"staged_predict failed|must be"):
        list(mercer.load(path).staged_predict(X))


def forge_part(model, other, name, path):
    """Write the file of a model in which one attribute is that of another model, with all its arrays."""
    original, stranger = Original(model), Original(other)
    first = len(original.arrays)
    header = copy.deepcopy(original.header)
    header["model"]["state"][name] = _move_arrays(stranger.header["model"]["state"][name], first)
    write_container(path, header, [*original.arrays, *stranger.arrays])


def _move_arrays(node, first):
    """Return a node of a header whose arrays are `first` places further on."""
    if isinstance(node, list):
        return [_move_arrays(item, first) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "array":
        return {**node, "index": node["index"] + first}
    return {name: _move_arrays(item, first) for name, item in node.items()}


def test_parts_of_another_model_are_refused_where_native_code_reads_both(tmp_path):
    path = tmp_path / "model.mercer"
    durations = SemiMarkovHMM(2, max_duration=4, random_state=0)
    forge_part(copy.copy(durations).fit(X), copy.copy(durations).fit(X[:, :2]), "emission_", path)
    with pytest.raises(ModelFileError, match=r"emission_ must have the \(columns, states\) \(4, 2\) of the model"):
        mercer.load(path)


# Users and pickles


@pytest.mark.parametrize("change", ["cycle", "beyond", "column"])
def test_a_tree_that_does_not_fit_cannot_be_assigned(change):
    model = DecisionTreeClassifier(random_state=0).fit(X, Y)
    tree = model.tree_
    arrays = {
        "cycle": {"children_right": put(0, 0)(tree.children_right.copy())},
        "beyond": {"children_right": put(0, 10**6)(tree.children_right.copy())},
        "column": {"feature": put(0, 4)(tree.feature.copy())},
    }
    with pytest.raises(ModelFileError, match=r"BinaryTree.* must .*; this model.*It was assigned"):
        model.tree_ = replace(tree, **arrays[change])
    assert model.tree_ is tree


@pytest.mark.parametrize("restore", [lambda model: model, lambda model: pickle.loads(pickle.dumps(model))])
def test_indices_of_trees_of_forests_and_of_trees_of_rows_cannot_be_written(restore):
    model = restore(DecisionTreeClassifier(random_state=0).fit(X, Y))
    with pytest.raises(ValueError, match="read-only"):
        model.tree_.children_right[0] = 10**6
    forest = restore(RandomForestClassifier(2, random_state=0).fit(X, Y))
    with pytest.raises(ValueError, match="read-only"):
        forest.estimators_[1].tree_.feature[:] = 2**30
    density = restore(KernelDensity().fit(X))
    with pytest.raises(ValueError, match="read-only"):
        density.tree_.bounds[-1] = 2**30


def _claim_one_column(model):
    model.n_features_in_ = 1
    return model


def test_rows_narrower_than_trees_read_are_refused_though_n_features_in_was_changed():
    for model in (
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(3, random_state=0),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
        AdaBoostClassifier(n_estimators=3),
        IsolationForest(n_estimators=3, random_state=0),
    ):
        # The label depends on the last column alone, so that trees and stumps read it.
        model.fit(X, X[:, 3] > 0)
        with pytest.raises((DataError, ModelFileError), match=r"reads? .* columns|columns = 1"):
            _claim_one_column(model).predict(X[:, :1])


def test_a_map_of_one_row_is_refused(tmp_path):
    original = Original(TSNE(perplexity=2.0, max_iter=20, random_state=0).fit(X))
    arrays = [array[:1] if array.ndim and len(array) == len(X) else array for array in original.arrays]
    write_container(tmp_path / "model", original.header, arrays)
    with pytest.raises(ModelFileError, match="embedding_ must have at least 2 rows"):
        mercer.load(tmp_path / "model")


def test_prototypes_without_a_row_are_refused(tmp_path):
    original = Original(PrototypeAgglomeration(n_prototypes=20, random_state=0).fit(X))
    # Everything of each prototype is gone, so that all shapes agree.
    arrays = [array[:0] if array.ndim and len(array) == 20 else array for array in original.arrays]
    path = tmp_path / "model.mercer"
    write_container(path, original.header, arrays)
    with pytest.raises(ModelFileError, match="prototypes_ must have a row; the file has none"):
        mercer.load(path)
