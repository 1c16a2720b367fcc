"""Promise 3 on devices: the same estimators, the same answers, and nothing that passes through the host unasked."""

import pickle
import warnings

import array_api_strict
import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_array_api_input, check_array_api_same_namespace

import mercer
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer.cluster import KMeans, MiniBatchKMeans, k_means, kmeans_plusplus
from mercer.decomposition import PCA, IncrementalPCA
from mercer.errors import DataError
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge
from mercer.watch import Checkpoint, EarlyStopping
from tests.laws.subjects import first_settings, subjects

SUBJECTS = [subject for subject in subjects() if "device" in subject.make().__sklearn_tags__().places]
RUNNING = [subject for subject in SUBJECTS if subject.make().__sklearn_tags__().array_api_support]
STRICT = array_api_strict.Device("device1")
LIBRARIES = {
    "torch": lambda array: torch.asarray(np.array(array)),
    "strict": lambda array: array_api_strict.asarray(array, device=STRICT),
}
METHODS = (
    *("predict", "transform", "decision_function", "predict_proba", "predict_log_proba", "score_samples"),
    "mahalanobis",
)
# What every model of some family has learnt.
LEARNT = {
    "scale_",
    "coef_",
    "coefs_",
    "components_",
    "cluster_centers_",
    "covariance_",
    "weights_",
    "x_weights_",
    "priors_",
    "class_prior_",
    "class_log_prior_",
    "dual_coef_",
    "X_train_",
    "random_weights_",
    "transmat_",
    "_fit_X",
}


def data(subject, dtype=np.float64):
    """Rows, and targets that are numbers."""
    X, y = subject.data(300, 5, dtype)
    return X, np.unique(y, return_inverse=True)[1] if y is not None and y.dtype.kind == "U" else y


def fit(model, *arrays, **weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*(one for one in arrays if one is not None), **weights)


def there(put, *arrays):
    return tuple(None if one is None else put(one) for one in arrays)


def assert_agree(model, other, X, rows, rtol):
    """Two models say the same of rows that each has in its own place."""
    for name in METHODS:
        if hasattr(model, name):
            expected, found = getattr(model, name)(X), getattr(other, name)(rows)
            assert Placement.of(found) == Placement.of(rows), name
            found = to_numpy(found)
            assert found.dtype == expected.dtype, name
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max(), err_msg=name)


@pytest.mark.parametrize("subject", RUNNING, ids=repr)
@pytest.mark.parametrize(
    # The other two pairs are in other laws: torch in float64 where models move, the strict standard in float32 where a
    # device has no float64.
    ("library", "dtype"),
    [("torch", np.float32), ("strict", np.float64)],
    ids=["torch-float32", "strict-float64"],
)
def test_a_fit_on_a_device_gives_the_answers_of_memory(subject, library, dtype):
    X, y = data(subject, dtype)
    weight = {"sample_weight": np.random.default_rng(0).random(len(X))} if subject.fit_takes("sample_weight") else {}
    rows, targets, heavy = there(LIBRARIES[library], X, y, weight.get("sample_weight"))
    # A kernel machine ends within tol of the optimum, where depends on the last bits of the products of each library: a
    # small tol leaves one place.
    machine = type(subject.make()).__module__.startswith("mercer.svm") and "kernel" in subject.make().get_params()
    options = {"tol": 1e-9} if machine and dtype == np.float64 else {}
    model = fit(subject.make(**options), X, y, **weight)
    found = fit(subject.make(**options), rows, targets, **({"sample_weight": heavy} if weight else {}))
    rtol = 2e-4 if dtype == np.float32 else 1e-6
    assert_agree(model, found, X, rows, rtol)
    if y is None:
        scores = [model.score(X), found.score(rows)] if hasattr(model, "score") else [0.0, 0.0]
    else:
        scores = [model.score(X, y), found.score(rows, targets)]
    assert isinstance(scores[1], float)
    assert scores[1] == pytest.approx(scores[0], rel=rtol)
    np.testing.assert_allclose(found.history_["objective"], model.history_["objective"], rtol=100 * rtol)


@pytest.mark.parametrize("subject", RUNNING, ids=repr)
def test_fitted_arrays_live_where_the_rows_live(subject):
    X, y = data(subject)
    memory, found = fit(subject.make(), X, y), fit(subject.make(), *there(LIBRARIES["strict"], X, y))
    for name, value in vars(memory).items():
        if isinstance(value, np.ndarray) and not name.startswith("_"):
            array = getattr(found, name)
            assert is_on_device(array), name
            assert array.device == STRICT, name
            assert to_numpy(array).dtype == value.dtype, name


@pytest.mark.parametrize("subject", [one for one in SUBJECTS if one not in RUNNING], ids=repr)
def test_a_solver_that_visits_rows_one_by_one_says_so(subject):
    X, y = data(subject)
    model = subject.make()
    with pytest.raises(DataError, match="needs all rows in memory"):
        fit(model, *there(LIBRARIES["torch"], X, y))
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("subject", RUNNING, ids=repr)
def test_a_device_without_float64_gives_the_answers_to_its_own_precision(subject):
    X, y = data(subject, np.float32)
    device = array_api_strict.Device("no_float64")

    def put(array):
        return array_api_strict.asarray(array if array.dtype.kind != "f" else array.astype(np.float32), device=device)

    rows, targets = there(put, X, y)
    model, found = fit(subject.make(), X, y), fit(subject.make(), rows, targets)
    assert_agree(model, found, X, rows, 5e-3)


@pytest.mark.parametrize("subject", RUNNING, ids=repr)
def test_models_move_between_devices_and_keep_their_answers(subject, tmp_path):
    X, y = data(subject)
    weight = {"sample_weight": np.random.default_rng(0).random(len(X))} if subject.fit_takes("sample_weight") else {}
    rows, targets, heavy = there(LIBRARIES["torch"], X, y, weight.get("sample_weight"))
    model = fit(subject.make(), rows, targets, **({"sample_weight": heavy} if weight else {}))
    assert_agree(fit(subject.make(), X, y, **weight), model, X, rows, 1e-6)
    home = mercer.to_device(model, "cpu")
    assert not any(is_on_device(value) for value in vars(home).values())
    assert_agree(home, model, X, rows, 1e-9)
    back = mercer.to_device(home, rows)
    assert_agree(home, back, X, rows, 1e-9)
    if model.__sklearn_tags__().requires_fit:
        learnt = next(value for name, value in vars(model).items() if name in LEARNT)
        assert is_on_device(learnt[0] if isinstance(learnt, list) else learnt)
    mercer.save(model, tmp_path / "model.mercer")
    assert_agree(mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model)), X, rows, 1e-9)


@pytest.mark.parametrize("subject", [one for one in first_settings() if one in RUNNING], ids=repr)
def test_rows_elsewhere_than_the_model_are_refused_with_the_cure(subject):
    X, y = data(subject)
    memory, found = fit(subject.make(), X, y), fit(subject.make(), *there(LIBRARIES["torch"], X, y))
    method = next(one for one in ("predict", "transform", "mahalanobis", "kneighbors") if hasattr(memory, one))
    name = type(memory).__name__
    for model, rows, places, cure in (
        (found, X, "the model is on cpu (torch) and X on cpu (numpy)", "mercer.to_device(model, 'cpu')"),
        (memory, torch.asarray(X), "the model is on cpu (numpy) and X on cpu (torch)", "mercer.to_device(model, X)"),
    ):
        with pytest.raises(DataError) as caught:
            getattr(model, method)(rows)
        expected = (
            f"{name}: inputs of {name}.{method}() must use the same namespace and device as the model; {places}. Move "
            f"one of them: {cure}, or X to where the model is."
        )
        assert str(caught.value) == expected


@pytest.mark.parametrize("subject", RUNNING, ids=repr)
def test_scikit_learns_checks_of_the_array_standard_pass(subject, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    reason = subject.make()._check_exceptions.get("check_array_api_input")
    if reason is not None:
        pytest.skip(reason)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_array_api_input(subject.name, subject.make(), "torch", "cpu", "float32")
        check_array_api_input(subject.name, subject.make(), "array_api_strict", "device1", "float32")
        check_array_api_same_namespace(subject.name, subject.make(), "array_api_strict")


ROWS = np.random.default_rng(0).normal(size=(400, 4))
TARGETS = ROWS @ [1.0, -2.0, 0.5, 0.0] + 3.0
TENSOR = torch.asarray(ROWS)


def test_functions_of_k_means_leave_their_results_where_the_rows_are():
    centres, labels, _ = k_means(TENSOR, 3, random_state=0)
    expected = k_means(ROWS, 3, random_state=0)
    np.testing.assert_allclose(centres, expected[0])
    np.testing.assert_array_equal(labels, expected[1])
    drawn = kmeans_plusplus(TENSOR, 3, random_state=0)
    assert all(isinstance(one, torch.Tensor) for one in (centres, labels, *drawn))
    np.testing.assert_array_equal(drawn[1], kmeans_plusplus(ROWS, 3, random_state=0)[1])


def test_first_centres_may_be_given_on_the_device():
    model = KMeans(3, init=TENSOR[:3], n_init=1).fit(TENSOR)
    expected = KMeans(3, init=ROWS[:3], n_init=1).fit(ROWS)
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_)


def test_distances_to_a_centre_that_a_row_sits_on_keep_their_digits():
    X = np.concatenate([ROWS[:50] + 1e6, ROWS[:50] + 1e6 + 1e-7, ROWS])
    memory = KMeans(3, init=X[:3], n_init=1, max_iter=1)
    with pytest.warns(UserWarning, match="max_iter"):
        memory.fit(X)
    model = mercer.to_device(memory, "torch:cpu")
    np.testing.assert_allclose(model.transform(torch.asarray(X)), memory.transform(X), rtol=1e-6)


@pytest.mark.parametrize("make", [MiniBatchKMeans, IncrementalPCA])
def test_partial_fit_goes_on_where_it_was(make):
    def grown(X):
        model = make(3, **({"random_state": 0} if make is MiniBatchKMeans else {}))
        for start in (0, 200):
            model.partial_fit(X[start : start + 200])
        return model

    memory, model = grown(ROWS), grown(TENSOR)
    assert_agree(memory, model, ROWS, TENSOR, 1e-6)
    with pytest.raises(DataError, match="must use the same namespace"):
        model.partial_fit(ROWS)


def test_more_of_a_principal_component_analysis_runs_there():
    for settings in ({"whiten": True}, {"whiten": "zca"}, {"scale": True}, {"whiten": True, "whiten_floor": 0.1}):
        memory, model = PCA(2, **settings).fit(ROWS), PCA(2, **settings).fit(TENSOR)
        assert_agree(memory, model, ROWS, TENSOR, 1e-9)
        for name in ("get_covariance", "get_precision"):
            np.testing.assert_allclose(getattr(model, name)(), getattr(memory, name)(), rtol=1e-9)
        restored = model.inverse_transform(model.transform(TENSOR))
        assert isinstance(restored, torch.Tensor)
        np.testing.assert_allclose(restored, memory.inverse_transform(memory.transform(ROWS)), rtol=1e-9)


def test_several_targets_residuals_and_standard_errors_run_there():
    Y = np.stack([TARGETS, ROWS[:, 0]], axis=1) + np.random.default_rng(1).normal(size=(400, 2))
    memory, model = LinearRegression().fit(ROWS, Y), LinearRegression().fit(TENSOR, torch.asarray(Y))
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.residuals(TENSOR, torch.asarray(Y)), memory.residuals(ROWS, Y), atol=1e-9)
    assert model.score(TENSOR, torch.asarray(Y)) == pytest.approx(memory.score(ROWS, Y))
    for found, expected in zip(model.standard_errors(TENSOR), memory.standard_errors(ROWS), strict=True):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_constant_target_scores_as_in_scikit_learn():
    y = np.full(400, 2.0)
    for model in (Ridge(), Ridge(fit_intercept=False)):
        expected = model.fit(ROWS, y).score(ROWS, y)
        assert model.fit(TENSOR, torch.asarray(y)).score(TENSOR, torch.asarray(y)) == pytest.approx(expected)


def test_a_model_refitted_in_memory_comes_home():
    model = LogisticRegression(warm_start=True).fit(TENSOR, torch.asarray(TARGETS > 3))
    assert isinstance(model.classes_, torch.Tensor)
    assert isinstance(model.fit(ROWS, TARGETS > 3).coef_, np.ndarray)
    assert isinstance(model.predict(ROWS), np.ndarray)


def test_a_pipeline_moves_with_its_steps():
    model = make_pipeline(PCA(3), KMeans(3, n_init=1, random_state=0)).fit(TENSOR)
    home = mercer.to_device(model, "cpu")
    np.testing.assert_array_equal(home.predict(ROWS), model.predict(TENSOR))
    assert isinstance(model[0].components_, torch.Tensor)
    assert isinstance(home[0].components_, np.ndarray)


class Crash:
    """A callback that ends a fit by an error after its third step."""

    def __init__(self):
        self.left = 3

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("killed")


def test_a_crashed_fit_resumes_there_with_the_same_bits(tmp_path):
    def model(*callbacks):
        return KMeans(5, random_state=0, n_init=1).set_callbacks(*callbacks)

    path = tmp_path / "fit.checkpoint"
    with pytest.raises(RuntimeError, match="killed"):
        model(Checkpoint(path, every=0), Crash()).fit(TENSOR)
    checkpoint = Checkpoint(path, every=0)
    resumed = model(checkpoint).fit(TENSOR)
    assert checkpoint.resumed_from_ == 2
    assert torch.equal(resumed.cluster_centers_, KMeans(5, random_state=0, n_init=1).fit(TENSOR).cluster_centers_)


def test_early_stopping_judges_by_a_validation_set_on_the_device():
    targets = torch.asarray((TARGETS > 3).astype(int))
    judge = EarlyStopping(TENSOR[::2], targets[::2], patience=2)
    model = fit(LogisticRegression(C=100.0).set_callbacks(judge), TENSOR[1::2], targets[1::2])
    assert model.score(TENSOR[::2], targets[::2]) == max(judge.scores_)


@pytest.mark.parametrize("device", ["warp:9", 5, None])
def test_an_unknown_device_is_refused_by_name(device):
    with pytest.raises(mercer.errors.ParameterError, match="to_device: device must be"):
        mercer.to_device(Ridge().fit(ROWS, TARGETS), device)
