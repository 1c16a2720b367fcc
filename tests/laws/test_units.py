"""Promise 11: units do not matter. The answer transforms as it should, or a warning names the column and the cure."""

import re
import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import KMeans
from tests.laws.subjects import first_settings, outputs, public_estimators, required

# Rows and columns; a fit to them takes a tenth of a second at most.
_ROWS = 80
_COLUMNS = 5
# Fits whose answers hang on rounding, or that take seconds: their own tests try them.
_NOT_HERE = (
    *("TSNE", "ConvClassifier", "RecurrentClassifier", "Autoencoder", "DensityHMM", "GMMHMM", "LinearGaussianModel"),
    *("SemiMarkovHMM", "UMAP", "PairwiseClustering", "BaggingClassifier", "BaggingRegressor", "RANSACRegressor"),
)
SUBJECTS = [
    one
    for one in first_settings()
    if one.name not in _NOT_HERE
    and not one.make().__sklearn_tags__().input_tags.categorical
    # What needs no fit maps values as they are, by parameters in their units.
    and one.make().__sklearn_tags__().requires_fit
]


def _move_column(X, factor, shift):
    moved = X.copy()
    moved[:, 1] = factor * X[:, 1] + shift
    return moved


# Rows, the factor of targets and their shift.
ROWS = {
    "rows times 1e-6": lambda X: 1e-6 * X,
    "rows times 1e6": lambda X: 1e6 * X,
    "rows times 1e8": lambda X: 1e8 * X,
    "rows plus 1e8": lambda X: X + 1e8,
    "one column times 1e-8": lambda X: _move_column(X, 1e-8, 0.0),
    "one column times 1e8": lambda X: _move_column(X, 1e8, 0.0),
    "one column plus 1e8": lambda X: _move_column(X, 1.0, 1e8),
}
TARGETS = {"targets times 1e-6": (1e-6, 0.0), "targets times 1e8": (1e8, 0.0), "targets plus 1e8": (1.0, 1e8)}


def fit(subject, X, y):
    """Return what the model says of its rows, the warnings, and whether it claims what its certificate denies."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = subject.make().fit(X, y)
        found = outputs(model, X)
    if "predict" not in found and np.ndim(getattr(model, "labels_", None)) == 1:
        found["labels"] = model.labels_
    if hasattr(model, "embedding_"):
        found["embedding"] = model.embedding_
    claims = model.converged_ and model.certificate_.satisfied is False
    return found, [str(one.message) for one in caught], claims


def explain(before, after):
    """The least share of the variance of a column of `after` that a linear map of `before` explains."""
    A, B = (np.asarray(part, dtype=float).reshape(len(part), -1) for part in (before, after))
    A = (A - A.mean(axis=0))[:, A.std(axis=0) > 0]
    B = B - B.mean(axis=0)
    sizes = np.abs(np.asarray(after, dtype=float)).reshape(len(after), -1).max(axis=0)
    B = B[:, B.std(axis=0) > 1e-12 * sizes]
    if not B.size:
        return float(not A.size)
    A, B = A / A.std(axis=0), B / B.std(axis=0)
    rest = B - A @ np.linalg.lstsq(A, B, rcond=None)[0]
    return float(1.0 - np.square(rest).mean(axis=0).max())


def compare(before, after, factor=1.0, shift=0.0):
    """The methods whose answers differ by more than the units make them."""
    wrong = []
    for name, old in before.items():
        new = after[name]
        if name == "labels" or (name == "predict" and old.dtype.kind in "iu"):
            # Rows on the border of a sphere are inside by rounding.
            fine = adjusted_rand_score(old, new) > 0.97 or np.mean(old == new) > 0.94
        elif old.dtype.kind not in "f":
            fine = np.mean(old == new) >= 0.97
        elif name == "predict":
            fine = np.abs((new - shift) / factor - old).max() <= 0.01 * (old.std() or 1.0)
        elif name == "predict_proba":
            fine = np.abs(new - old).max() < 0.01
        else:
            fine = np.isfinite(new).all() and explain(old, new) > 0.999
        if not fine:
            wrong.append(name)
    return wrong


def is_told(words, named):
    """Return whether a warning or an error names what is at fault, and what helps."""
    return re.search(named, words) is not None and re.search(r"[Ss]cale|[Ll]ower|[Rr]aise|[Dd]ivide", words) is not None


def judge(subject, X, y, before, named, factor=1.0, shift=0.0):
    """What is wrong with the answers in other units: nothing if a warning or an error names the column and the cure."""
    try:
        after, said, claims = fit(subject, X, y)
    except ValueError as error:
        return [] if is_told(str(error), named) else [str(error)]
    if claims:
        return ["converged_ although the certificate is not satisfied"]
    wrong = compare(before, after, factor, shift)
    return wrong + said if wrong and not any(is_told(one, named) for one in said) else []


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.name)
def test_units_of_rows_change_no_answer_or_a_warning_says_so(subject):
    X, y = subject.data(_ROWS, _COLUMNS)
    before, _, _ = fit(subject, X, y)
    # Of one column in other units that one is named.
    wrong = {
        name: judge(subject, change(X), y, before, r"\bcolumn 1\b" if "one" in name else r"\bcolumn \d")
        for name, change in ROWS.items()
    }
    assert {name: words for name, words in wrong.items() if words} == {}


@pytest.mark.parametrize("subject", [one for one in SUBJECTS if one.kind == "numbers"], ids=lambda one: one.name)
def test_units_of_targets_change_no_answer_or_a_warning_says_so(subject):
    X, y = subject.data(_ROWS, _COLUMNS)
    # In units of their deviation.
    y = y / y.std()
    before, _, _ = fit(subject, X, y)
    wrong = {
        name: judge(subject, X, factor * y + shift, before, r"\b(y|targets)\b", factor, shift)
        for name, (factor, shift) in TARGETS.items()
    }
    assert {name: words for name, words in wrong.items() if words} == {}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.name)
def test_usual_units_get_no_warning(subject):
    X, y = subject.data(_ROWS, _COLUMNS)
    _, said, _ = fit(subject, X * [1.0, 0.01, 100.0, 1.0, 10.0], y)
    assert not [one for one in said if "spreads over" in one]


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda estimator: estimator.__name__)
def test_the_units_that_a_class_depends_on_are_known_words(estimator):
    words = estimator(**required(estimator))._depends_on_units
    assert set(words) <= {"columns", "scale", "place", "target", "target place"}


def test_a_warning_names_a_column_as_the_table_does():
    pandas = pytest.importorskip("pandas", reason="the rows are a frame of pandas")
    X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 1e9]
    with pytest.warns(UserWarning, match="KMeans: column 'time' spreads over .* and column 'width' over .*Scale the"):
        KMeans(2, random_state=0).fit(pandas.DataFrame(X, columns=["width", "time"]))
