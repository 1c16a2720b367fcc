"""Labels as numbers and columns: scikit-learn's answers for every type of label, and model files."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.preprocessing

import mercer
from mercer.errors import DataError
from mercer.preprocessing import LabelBinarizer, LabelEncoder, MultiLabelBinarizer

TEXTS = ["pear", "apple", "fig", "apple", "pear", "banana"]
LABELS = {
    "list": TEXTS,
    "texts": np.array(TEXTS),
    "objects": np.array(TEXTS, dtype=object),
    "integers": np.array([5, -3, 5, 2, 2, 40]),
    "unsigned": np.array([5, 3, 5, 2, 2, 40], dtype=np.uint8),
    "booleans": np.array([True, False, True, True]),
    "one": np.array([7, 7]),
    "two": ["b", "a", "b"],
    "floats": np.array([1.0, 2.0, 1.0]),
    "gaps": np.array(["a", None, "b"], dtype=object),
    "numbers of python": [3, 1, 2, 1],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_numbered_as_by_scikit_learn(kind):
    y = LABELS[kind]
    ours, theirs = LabelEncoder(), sklearn.preprocessing.LabelEncoder()
    np.testing.assert_array_equal(ours.fit_transform(y), theirs.fit_transform(y))
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.classes_.dtype == theirs.classes_.dtype
    np.testing.assert_array_equal(ours.fit(y).transform(y), theirs.transform(y))
    assert ours.inverse_transform([0, 0]).tolist() == theirs.inverse_transform([0, 0]).tolist()


@pytest.mark.parametrize("kind", [kind for kind in LABELS if kind != "gaps"])
@pytest.mark.parametrize("numbers", [{}, {"neg_label": -1, "pos_label": 2}, {"sparse_output": True}])
def test_labels_become_the_columns_of_scikit_learn(kind, numbers):
    y = LABELS[kind]
    ours, theirs = LabelBinarizer(**numbers), sklearn.preprocessing.LabelBinarizer(**numbers)
    found, wanted = ours.fit_transform(y), theirs.fit_transform(y)
    assert type(found) is type(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(_dense(found), _dense(wanted))
    assert (ours.y_type_, ours.classes_.tolist()) == (theirs.y_type_, theirs.classes_.tolist())
    assert ours.inverse_transform(found).tolist() == theirs.inverse_transform(wanted).tolist()
    for new in (y[:1], list(y)[:2] + list(y)[:1]):
        np.testing.assert_array_equal(_dense(ours.transform(new)), _dense(theirs.transform(new)))


def _dense(rows):
    return rows.toarray() if scipy.sparse.issparse(rows) else rows


def test_unknown_labels_get_rows_of_zeros():
    model = LabelBinarizer().fit(["a", "b", "c"])
    assert model.transform(["b", "z"]).tolist() == [[0, 1, 0], [0, 0, 0]]


def test_an_unknown_label_is_named_with_its_row():
    model = LabelEncoder().fit(["a", "b"])
    with pytest.raises(DataError, match=r"previously unseen labels: \['abc'\], the first in row 1"):
        # Longer than any label of the fit: nothing is cut off.
        model.transform(["a", "abc", "abc"])


@pytest.mark.parametrize("sparse", [False, True])
def test_sets_of_labels_become_the_columns_of_scikit_learn(sparse):
    rng = np.random.default_rng(0)
    for sets in (
        [rng.integers(0, 9, rng.integers(0, 5)).tolist() for _ in range(50)],
        [["b", "a", "b"], [], ("c",)],
        [[(1,), (2,)], [(1,)]],
    ):
        ours = MultiLabelBinarizer(sparse_output=sparse)
        theirs = sklearn.preprocessing.MultiLabelBinarizer(sparse_output=sparse)
        found, wanted = ours.fit_transform(sets), theirs.fit_transform(sets)
        assert type(found) is type(wanted)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(_dense(found), _dense(wanted))
        assert ours.classes_.tolist() == theirs.classes_.tolist()
        assert ours.classes_.dtype == theirs.classes_.dtype
        np.testing.assert_array_equal(_dense(ours.transform(sets)), _dense(wanted))


def test_unknown_labels_of_sets_are_left_out_with_a_warning():
    model = MultiLabelBinarizer().fit([{1, 2}])
    with pytest.warns(UserWarning, match=r"unknown class\(es\) \[0, 4\] will be ignored"):
        assert model.transform([{4, 1}, {2, 0}]).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("model", "y"),
    [(LabelEncoder(), ["b", "a"]), (LabelBinarizer(), ["b", "a", "c"]), (MultiLabelBinarizer(), [["b"], ["a", "b"]])],
)
def test_a_saved_encoder_gives_the_same_answers(model, y, tmp_path):
    wanted = model.fit_transform(y)
    mercer.save(model, tmp_path / "labels.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "labels.mercer").transform(y), wanted)
