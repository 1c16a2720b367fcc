"""Libraries that ask for scikit-learn's own classes, with mercer's models; each where it is installed."""

import copy
import importlib.util
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.inspection import partial_dependence
from sklearn.tree import export_graphviz, export_text, plot_tree

import mercer
from mercer.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mercer.linear_model import Ridge
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor


def make_rows(seed=0):
    """Rows that single precision holds exactly, as scikit-learn's trees see them."""
    X = np.random.default_rng(seed).normal(size=(120, 4)).astype(np.float32).astype(float)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    return X, y, (y > 0).astype(int)


REGRESSORS = (
    DecisionTreeRegressor(max_depth=4),
    RandomForestRegressor(5, random_state=0),
    ExtraTreesRegressor(5, random_state=0),
    GradientBoostingRegressor(n_estimators=6),
    HistGradientBoostingRegressor(max_iter=6),
)
CLASSIFIERS = (
    DecisionTreeClassifier(max_depth=4),
    RandomForestClassifier(5, random_state=0),
    GradientBoostingClassifier(n_estimators=6),
    HistGradientBoostingClassifier(max_iter=6),
)


def fit(model):
    X, y, labels = make_rows()
    return model.fit(X, labels if hasattr(model, "predict_proba") else y)


@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS, IsolationForest(n_estimators=5)], ids=repr)
def test_trees_count_as_scikit_learns_class_of_the_same_name(model):
    import sklearn.ensemble
    import sklearn.tree

    name = type(model).__name__
    theirs = getattr(sklearn.tree, name, None) or getattr(sklearn.ensemble, name)
    assert isinstance(model, theirs)
    assert type(model).__module__.startswith("mercer.")
    assert not isinstance(model, sklearn.ensemble.StackingRegressor)


def test_pictures_and_texts_of_scikit_learn_take_trees():
    model = fit(DecisionTreeClassifier(max_depth=2))
    assert len(plot_tree(model)) >= model.tree_.node_count
    assert export_text(model).startswith("|--- feature_")
    assert "digraph" in export_graphviz(model)


@pytest.mark.parametrize(
    "model", [REGRESSORS[0], REGRESSORS[1], REGRESSORS[3], REGRESSORS[4], *CLASSIFIERS[2:]], ids=repr
)
def test_partial_dependence_by_recursion_is_scikit_learns_up_to_a_constant(model):
    X, _, _ = make_rows()
    fit(model)
    found, wanted = (
        partial_dependence(one, X, [0, 2], method="recursion")["average"] for one in (model, mercer.to_sklearn(model))
    )
    # scikit-learn leaves out what boosting starts from.
    assert np.ptp(found - wanted) <= 1e-12 * max(1.0, np.abs(wanted).max())


def test_partial_dependence_of_all_columns_is_the_prediction():
    X, y, _ = make_rows()
    model = RandomForestRegressor(5, random_state=0).fit(X[:, :2], y)
    table = partial_dependence(model, X[:, :2], [0, 1], method="recursion", grid_resolution=7)
    first, second = table["grid_values"]
    rows = np.array([[a, b] for a in first for b in second])
    np.testing.assert_allclose(table["average"].ravel(), model.predict(rows), atol=1e-12)


@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_contributions_sum_to_the_answer_and_leave_out_columns_that_no_split_uses(model):
    X, _, _ = make_rows()
    fit(model)
    parts = model.contributions(X[:9])
    if hasattr(model, "decision_function"):
        wanted = model.decision_function(X[:9])
    else:
        wanted = model.predict_proba(X[:9]) if hasattr(model, "predict_proba") else model.predict(X[:9])
    np.testing.assert_allclose(parts.sum(axis=-1), wanted, atol=1e-12)
    stump = DecisionTreeRegressor(max_depth=1).fit(X, X[:, 1])
    assert np.flatnonzero(stump.contributions(X)[:, :-1].any(axis=0)).tolist() == [1]


def test_copies_and_pickles_of_trees_stay_trees():
    model = fit(RandomForestRegressor(4, random_state=0))
    X, _, _ = make_rows()
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(twin.estimators_[0].tree_) is type(model.estimators_[0].tree_)
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_a_pickle_of_another_version_warns():
    state = Ridge().fit(*make_rows()[:2]).__getstate__()
    assert state["_mercer_version"] == mercer.__version__
    with pytest.warns(UserWarning, match=r"this pickle was written by mercer 9\.8 and is read by"):
        Ridge().__setstate__(state | {"_mercer_version": "9.8"})
    assert "_mercer_version" not in vars(pickle.loads(pickle.dumps(Ridge())))


def test_derived_classes_need_no_constraints():
    from sklearn.base import clone

    class Moved(Ridge):
        def __init__(self, alpha=1.0, extra=3):
            super().__init__(alpha=alpha)
            self.extra = extra

        def predict(self, X):
            return super().predict(X) + self.extra

    X, y, _ = make_rows()
    model = clone(Moved(alpha=2.0, extra=5)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), Ridge(alpha=2.0).fit(X, y).predict(X) + 5)
    assert model.get_params() == {"alpha": 2.0, "extra": 5}


@pytest.mark.parametrize(
    "model", [*REGRESSORS, *CLASSIFIERS, IsolationForest(n_estimators=5, random_state=0)], ids=repr
)
def test_shap_explains_trees_as_it_explains_scikit_learns(model):
    shap = pytest.importorskip("shap")
    X, _, _ = make_rows()
    fit(model)
    found, wanted = (
        np.asarray(shap.TreeExplainer(one).shap_values(X[:7])) for one in (model, mercer.to_sklearn(model))
    )
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    if hasattr(model, "contributions"):
        own = model.contributions(X[:7])[..., :-1]
        np.testing.assert_allclose(own if own.ndim == 2 else own.transpose(0, 2, 1), found, atol=1e-10)


def needs(package):
    """Skip where a package is not installed, without importing it."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"could not find {package}")


def run_apart(script):
    """Run a program in a process of its own.

    imbalanced-learn, which skl2onnx imports, changes scikit-learn's lists of methods: objects with metadata requests
    that were made before fail afterwards.
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


_CONVERT = """
import numpy as np
import onnxruntime

import mercer
from mercer.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from mercer.linear_model import LogisticRegression, Ridge
from mercer.preprocessing import StandardScaler
from sklearn.pipeline import make_pipeline
from tests.interop.test_other_libraries import make_rows

from skl2onnx import to_onnx
from sklearn.preprocessing import StandardScaler as TheirScaler

assert mercer.interop.register_onnx_converters() > 200
X, y, labels = make_rows()
names = np.array(["ash", "birch"])[labels]
for model, target, close in (
    (make_pipeline(TheirScaler(), RandomForestClassifier(5, random_state=0)), names, 1e-6),
    (make_pipeline(StandardScaler(), LogisticRegression()), names, 1e-12),
    (make_pipeline(TheirScaler(), Ridge()), y, 1e-12),
    (HistGradientBoostingRegressor(max_iter=5), y, 1e-6),
):
    model.fit(X, target)
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    graph = to_onnx(model, X[:1], target_opset=19, options=options)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": X})
    if options:
        assert (found[0] == model.predict(X)).all()
        np.testing.assert_allclose(found[1], model.predict_proba(X), atol=close)
    else:
        np.testing.assert_allclose(found[0].ravel(), model.predict(X), atol=close)
"""


def test_skl2onnx_converts_pipelines_with_our_steps():
    pytest.importorskip("onnxruntime")
    needs("skl2onnx")
    run_apart(_CONVERT)


def test_skops_reads_what_the_list_of_types_trusts():
    skops_io = pytest.importorskip("skops.io")
    if "shap" in sys.modules:
        pytest.skip("with shap loaded, trees pose as scikit-learn's, which skops keeps in another form")
    X, y, _ = make_rows()
    for model in (Ridge().fit(X, y), fit(RandomForestRegressor(3, random_state=0))):
        trusted = mercer.interop.list_trusted_types(model)
        assert all(name.startswith("mercer.") for name in trusted)
        again = skops_io.loads(skops_io.dumps(model), trusted=trusted)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_mlflow_keeps_models_with_the_list_of_types(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("skops")
    X, y, _ = make_rows()
    model = Ridge().fit(X, y)
    monkeypatch.chdir(tmp_path)
    trusted = mercer.interop.list_trusted_types(model)
    mlflow.sklearn.save_model(model, str(tmp_path / "model"), skops_trusted_types=trusted)
    np.testing.assert_array_equal(mlflow.sklearn.load_model(str(tmp_path / "model")).predict(X), model.predict(X))


def test_eli5_explains_the_converted_model():
    eli5 = pytest.importorskip("eli5")
    X, y, _ = make_rows()
    told = eli5.explain_weights(mercer.to_sklearn(Ridge().fit(X, y)))
    assert told.targets[0].feature_weights.pos[0].feature == "x0"


_SAMPLE = """
import numpy as np
from imblearn import under_sampling as sampling

from mercer.neighbors import KNeighborsClassifier
from tests.interop.test_other_libraries import make_rows

X, _, _ = make_rows()
rare = (np.random.default_rng(1).random(len(X)) < 0.2).astype(int)
for sampler in (sampling.CondensedNearestNeighbour, sampling.OneSidedSelection):
    found = sampler(n_neighbors=KNeighborsClassifier(1), random_state=0).fit_resample(X, rare)
    wanted = sampler(n_neighbors=1, random_state=0).fit_resample(X, rare)
    np.testing.assert_array_equal(found[0], wanted[0])
"""


def test_imbalanced_learn_takes_our_neighbours():
    needs("imblearn")
    run_apart(_SAMPLE)


def test_joblib_keeps_trees():
    import joblib

    X, _, _ = make_rows()
    model = fit(RandomForestRegressor(3, random_state=0))
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict(X), model.predict(X))
