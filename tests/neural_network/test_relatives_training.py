"""The training that autoencoders, images and sequences share: methods, places, parts, validation rows."""

import numpy as np
import pytest

import mercer
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.neural_network import Autoencoder, ConvClassifier, RecurrentClassifier, RecurrentRegressor
from mercer.optim import LBFGS, Adam, AdamW, StepDecay

LIBRARIES = ["torch", "array_api_strict"]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make_images(n=60, seed=0):
    random = np.random.default_rng(seed)
    X = 0.1 * random.normal(size=(n, 6, 6))
    y = random.integers(0, 2, n)
    X[y == 1, 2, :] += 1.0
    X[y == 0, :, 2] += 1.0
    return X, y


def make_sequences(n=60, time=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, time, 2))
    return X, X[:, :, 0].sum(axis=1)


def make_cases():
    images, labels = make_images()
    sequences, sums = make_sequences()
    small = {"max_iter": 3, "random_state": 0, "batch_size": 16}
    return {
        "autoencoder": (
            Autoencoder(2, hidden_layer_sizes=(5,), noise=0.1, contraction=0.01, **small),
            sequences[:, 0],
            None,
        ),
        "images": (ConvClassifier(filters=(3,), hidden_layer_sizes=(), batch_norm=True, **small), images, labels),
        "regression": (RecurrentRegressor(4, cell="lstm", **small), sequences, sums),
        "classes": (RecurrentClassifier(4, dropout=0.2, n_layers=2, **small), sequences, (sums > 0).astype(int)),
    }


def predict(model, X):
    return model.transform(X) if hasattr(model, "transform") else getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", list(make_cases()))
def test_other_array_libraries_take_the_same_steps(library, name):
    xp = pytest.importorskip(library)
    model, X, y = make_cases()[name]
    weight = np.linspace(0.5, 1.5, len(X))
    here = model.fit(X, y, sample_weight=weight)
    expected, losses = predict(here, X), here.history_["objective"]
    there = model.fit(xp.asarray(X), None if y is None else xp.asarray(y), sample_weight=xp.asarray(weight))
    np.testing.assert_allclose(there.history_["objective"], losses, rtol=1e-9)
    values = predict(there, xp.asarray(X))
    assert type(values) is type(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(values), expected, rtol=1e-8)
    with pytest.raises(DataError, match="must use the same namespace and device"):
        predict(there, X)


@pytest.mark.parametrize("name", list(make_cases()))
def test_parts_go_on_where_the_last_one_ended(name, tmp_path):
    model, X, y = make_cases()[name]
    options = {"classes": [0, 1]} if hasattr(model, "predict_proba") else {}
    for _ in range(3):
        model.partial_fit(X, y, **options)
    assert model.n_iter_ == 3
    # Parts of all rows are epochs of one fit, with the same order of rows and the same noise.
    whole = make_cases()[name][0].fit(X, y)
    np.testing.assert_array_equal(model.weights_, whole.weights_)
    mercer.save(model, tmp_path / "part.mercer")
    restored = mercer.load(tmp_path / "part.mercer").partial_fit(X, y)
    np.testing.assert_array_equal(restored.weights_, model.partial_fit(X, y).weights_)


@pytest.mark.parametrize("name", list(make_cases()))
def test_a_warm_start_goes_on_with_the_last_weights(name):
    model, X, y = make_cases()[name]
    model.set_params(warm_start=True).fit(X, y)
    first = model.weights_.copy()
    model.set_params(learning_rate_init=1e-12, max_iter=1).fit(X, y)
    np.testing.assert_allclose(model.weights_, first, atol=1e-9)


def test_rows_in_files_and_dask_are_examples(tmp_path):
    dask = pytest.importorskip("dask.array")
    X, y = make_images(300)
    rows = X.reshape(300, 36)
    np.save(tmp_path / "rows.npy", rows)
    coder = Autoencoder(2, hidden_layer_sizes=(), learning_rate_init=0.01, max_iter=5, random_state=0, tol=0.0)
    here, there = coder.fit(rows).score(rows), coder.fit(tmp_path / "rows.npy").score(rows)
    # A file of one block has other batches than an array, but reaches the same loss in the mean.
    assert there == pytest.approx(here, rel=0.1)
    np.testing.assert_allclose(coder.transform(tmp_path / "rows.npy"), coder.transform(rows))
    reader = ConvClassifier((6, 6), filters=(4,), hidden_layer_sizes=(), learning_rate_init=0.02, random_state=0)
    reader.set_params(max_iter=5).fit(dask.from_array(rows, chunks=(100, 36)), dask.from_array(y, chunks=100))
    assert reader.score(rows, y) > 0.95
    signals = RecurrentRegressor(4, cell="gru", learning_rate_init=0.02, max_iter=20, random_state=0)
    signals.fit(dask.from_array(rows[:, :4], chunks=(100, 4)), dask.from_array(rows[:, :4].sum(axis=1), chunks=100))
    assert signals.score(rows[:, :4], rows[:, :4].sum(axis=1)) > 0.8


@pytest.mark.fixed_seed(
    "on some tables 200 steps of L-BFGS leave a gradient above 1e-8, and 20 epochs too little to tell rates"
)
def test_any_method_of_optim_trains_with_schedules_clipping_and_decay():
    X = make_sequences()[0][:, 0]
    settings = {"hidden_layer_sizes": (), "max_iter": 20, "random_state": 0, "tol": 0.0, "batch_size": 60}
    named = Autoencoder(1, learning_rate_init=0.05, **settings).fit(X)
    same = Autoencoder(1, solver=Adam(learning_rate=0.05), **settings).fit(X)
    # The two add epsilon to the root before and after its correction.
    np.testing.assert_allclose(same.weights_, named.weights_, atol=1e-3 * np.abs(named.weights_).max())
    # Half the rate after ten steps.
    slower = Autoencoder(1, solver=Adam(learning_rate=StepDecay(0.05, 0.5, 10)), **settings).fit(X)
    np.testing.assert_allclose(slower.history_["objective"][:9], named.history_["objective"][:9], rtol=1e-3)
    assert slower.history_["objective"][-1] != pytest.approx(named.history_["objective"][-1], rel=1e-3)
    decayed = Autoencoder(1, solver=AdamW(learning_rate=0.05, weight_decay=10.0), **settings).fit(X)
    assert np.linalg.norm(decayed.weights_) < 0.8 * np.linalg.norm(named.weights_)
    # One clipped step of plain gradients has the length clip_norm times the rate.
    start = Autoencoder(1, **settings | {"max_iter": 1}, solver="sgd", learning_rate_init=1e-9).fit(X).weights_
    clip = Autoencoder(1, **settings | {"max_iter": 1}, solver="sgd", learning_rate_init=0.5, clip_norm=0.01).fit(X)
    assert np.linalg.norm(clip.weights_ - start) == pytest.approx(0.5 * 1.9 * 0.01, rel=1e-4)
    best = Autoencoder(1, solver=LBFGS(), **settings | {"max_iter": 200, "tol": 1e-8}).fit(X)
    assert best.converged_
    assert best.certificate_.value < 1e-8
    with pytest.raises(UnsupportedError, match="needs one objective in all steps"):
        Autoencoder(1, solver=LBFGS(), dropout=0.1).fit(X)


def test_the_users_validation_rows_choose_the_weights():
    X, y = make_images(40)
    X_val, y_val = make_images(30, seed=1)
    model = ConvClassifier(filters=(3,), hidden_layer_sizes=(8,), early_stopping=True, learning_rate_init=0.1)
    model.set_params(max_iter=25, random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    losses = model.history_["validation_loss"]
    chances = model.predict_proba(X_val)[np.arange(30), y_val]
    assert -np.log(chances).mean() == pytest.approx(losses.min(), rel=1e-6)
    sequences, sums = make_sequences(40)
    longer, more = make_sequences(20, time=8, seed=1)
    ragged = RecurrentRegressor(4, early_stopping=True, max_iter=4, random_state=0)
    ragged.fit(sequences, sums, X_val=longer, y_val=more)
    gap = ((ragged.predict(longer) - more) / ragged.y_scale_) ** 2
    assert 0.5 * gap.mean() == pytest.approx(ragged.history_["validation_loss"].min(), rel=1e-6)
    with pytest.raises(DataError, match="X_val and y_val go together, and need early_stopping=True"):
        ConvClassifier().fit(X, y, X_val=X_val, y_val=y_val)
    with pytest.raises(DataError, match=r"shape \(6, 6, 1\) of X, as X_val must have; got \(5, 6\)"):
        ConvClassifier(early_stopping=True).fit(X, y, X_val=X_val[:, :5], y_val=y_val)


def test_weights_of_classes_and_rows_count():
    X, y = make_images(60)
    settings = {"filters": (2,), "hidden_layer_sizes": (), "max_iter": 4, "random_state": 0}
    by_class = ConvClassifier(class_weight={0: 3.0, 1: 1.0}, **settings).fit(X, y)
    by_row = ConvClassifier(**settings).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.weights_, by_row.weights_, rtol=1e-9)
    sequences, _ = make_sequences()
    steps = (sequences[:, :, 0] > 1.5).astype(int)
    plain = RecurrentClassifier(4, max_iter=5, random_state=0).fit(sequences, steps)
    fair = RecurrentClassifier(4, max_iter=5, random_state=0, class_weight="balanced").fit(sequences, steps)
    assert fair.predict(sequences).mean() > plain.predict(sequences).mean()


def test_wrong_parts_are_answered_by_sentences():
    X, y = make_images(20)
    with pytest.raises(ParameterError, match="partial_fit does not support early_stopping=True"):
        ConvClassifier(early_stopping=True).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(DataError, match="classes must be passed on the first call to partial_fit"):
        ConvClassifier().partial_fit(X, y)
    model = ConvClassifier(filters=(2,), hidden_layer_sizes=()).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(DataError, match=r"shape \(6, 6, 1\) of those that were learnt; got \(4, 9\)"):
        model.partial_fit(X.reshape(20, 4, 9), y)
    with pytest.raises(DataError, match="classes not in"):
        model.partial_fit(X, y + 5)
    sequences, sums = make_sequences(20)
    later = RecurrentRegressor(3).partial_fit(sequences, sums)
    with pytest.raises(DataError, match="targets must be of sequences, as in the last fit"):
        later.partial_fit(sequences, sequences[:, :, 0])
    with pytest.raises(DataError, match="early_stopping=True needs at least 2 rows"):
        Autoencoder(1, early_stopping=True).fit(sequences[:1, 0])
