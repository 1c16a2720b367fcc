"""Promises 3 and 8: any storage gives the same answer, inputs are left alone, and float32 stays float32."""

import importlib.util
import warnings

import numpy as np
import pandas
import pyarrow
import pytest
import scipy.sparse

from tests.laws.subjects import digest, first_settings, fit_once, fitted, outputs, subjects, without_names

SUBJECTS = subjects()
# The other places are tried without it.
POLARS = importlib.util.find_spec("polars") is not None
NAMES = ["a", "b", "c", "d", "e"]


def strided(X):
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    return wide[::2, ::2]


def mapped(X, folder):
    """Rows mapped from a file, which cannot be written to."""
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


DENSE = {
    "Fortran order": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: strided(X),
    "read-only memory map": mapped,
    "pandas": lambda X, _: pandas.DataFrame(X, columns=NAMES),
    "Arrow": lambda X, _: pyarrow.table(dict(zip(NAMES, X.T, strict=True))),
    "lists": lambda X, _: X.tolist(),
}
FRAMES = ["pandas", "polars"] if POLARS else ["pandas"]
if POLARS:
    DENSE["polars"] = lambda X, _: importlib.import_module("polars").DataFrame(X, schema=NAMES)


def fit(subject, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return subject.make().fit(X, y)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_every_dense_place_gives_the_same_bits(subject, tmp_path):
    X, y = subject.data(200, 5)
    expected = without_names(fitted(fit_once(subject, 200)))
    for place, put in DENSE.items():
        model = fit(subject, put(X, tmp_path), y)
        assert digest(without_names(fitted(model))) == digest(expected), place
        named = place in ("pandas", "polars", "Arrow")
        if hasattr(model, "schema_"):
            assert model.schema_.names == (NAMES if named else [f"x{index}" for index in range(5)])
        if named:
            assert model.feature_names_in_.tolist() == NAMES
            assert all(len(values) == 200 for values in outputs(model, put(X, tmp_path)).values())


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_sparse_rows_give_the_dense_answer_to_rounding(subject):
    X, y = subject.data(200, 5)
    X = subject.spread(X)
    stores = (scipy.sparse.csr_array, scipy.sparse.csc_matrix)
    if not subject.make().__sklearn_tags__().input_tags.sparse:
        for store in stores:
            with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
                fit(subject, store(X), y)
        return
    dense = outputs(fit(subject, X, y), X)
    for store in stores:
        sparse = outputs(fit(subject, store(X), y), X)
        for name, expected in dense.items():
            if expected.dtype.kind == "f":
                scale, place = np.abs(expected).max(), f"{name} of {store.__name__}"
                np.testing.assert_allclose(sparse[name], expected, rtol=1e-6, atol=1e-6 * scale, err_msg=place)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_fitting_and_predicting_leave_the_input_as_it_was(subject):
    X, y = subject.data(60, 5)
    before = digest([X, y])
    outputs(fit(subject, X, y), X)
    assert digest([X, y]) == before


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_float32_stays_float32_and_agrees_with_float64(subject):
    X, y = subject.data(300, 5)
    X = X.astype(np.float32).astype(np.float64)
    double, single = fit(subject, X, y), fit(subject, X.astype(np.float32), y)
    expected = outputs(double, X)
    # What stands for categories has the type that a parameter names; it is no rounding of the rows.
    kept = subject.exempt("float32") is None
    for name, found in outputs(single, X.astype(np.float32)).items():
        if found.dtype.kind == "f":
            assert (found.dtype == np.float32) == kept, name
            np.testing.assert_allclose(found, expected[name], rtol=2e-2, atol=2e-3 * np.abs(expected[name]).max())


# Where first clusters are drawn, the draws fall on other rows: equal in distribution only.
DRAWS_ROWS = [subject for subject in SUBJECTS if subject.takes("random_state") and subject.takes("n_clusters")]


@pytest.mark.parametrize("subject", [one for one in SUBJECTS if one not in DRAWS_ROWS], ids=repr)
def test_the_order_of_rows_does_not_matter(subject):
    reason = subject.exempt("row order")
    X, y = subject.data(300, 5)
    order = np.random.default_rng(0).permutation(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"tol": 1e-8, "max_iter": 20000}
        first = subject.make(**settings).fit(X, y)
        second = subject.make(**settings).fit(X[order], None if y is None else y[order])
    found = outputs(second, X)
    differences = [
        name
        for name, expected in outputs(first, X).items()
        if expected.dtype.kind == "f"
        and not np.allclose(found[name], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    ]
    assert bool(differences) == bool(reason), (differences, reason)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_predictions_do_not_depend_on_which_rows_come_along(subject):
    reason = subject.exempt("rows alone")
    X, y = subject.data(300, 5)
    model = fit(subject, X, y)
    whole = outputs(model, X)
    differences = [
        name
        for name, found in outputs(model, X[7:8]).items()
        if not (
            np.allclose(found[0], whole[name][7], rtol=1e-10, atol=1e-12)
            if found.dtype.kind == "f"
            else np.array_equal(found[0], whole[name][7])
        )
    ]
    assert bool(differences) == bool(reason), (differences, reason)


@pytest.mark.parametrize("subject", [one for one in first_settings() if hasattr(one.make(), "transform")], ids=repr)
def test_transformers_return_frames_when_asked(subject):
    X, y = subject.data(100, 5)
    frame = pandas.DataFrame(X, columns=NAMES)
    model = fit(subject, frame, y)
    sparse = scipy.sparse.issparse(model.transform(frame))
    for container in FRAMES:
        model.set_output(transform=container)
        if sparse:
            with pytest.raises(ValueError, match=r"outputs a scipy sparse matrix|does not support sparse data"):
                model.transform(frame)
            continue
        result = model.transform(frame)
        assert type(result).__module__.split(".")[0] == container
        assert len(result) == 100
