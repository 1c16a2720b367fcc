"""Bad input: the exception type that scikit-learn users expect, a sentence, and nothing half-fitted left behind."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from mercer.errors import MemoryForecastError, ParameterError
from tests.laws.subjects import digest, fitted, outputs, public_estimators, required, subjects

SUBJECTS = subjects()
TAKES_ANY_NUMBER = (
    "HDBSCAN",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
)
BAD_ROWS = {
    "NaN": (lambda X: np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X), "contains NaN"),
    "infinity": (lambda X: np.where(np.arange(X.size).reshape(X.shape) == 7, np.inf, X), "contains infinity"),
    "one dimension": (lambda X: X[:, 0], "Expected 2D array, got 1D array"),
    "three dimensions": (lambda X: X[:, :, None], "dim 3"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "no columns": (lambda X: X[:, :0], "0 feature"),
    "strings": (lambda X: np.full(X.shape, "oak"), "could not convert string to float"),
}


def takes_fault(subject, fault):
    """Whether this estimator takes such rows: NaN as missing entries, texts as categories, any number for its order."""
    tags = get_tags(subject.make()).input_tags
    return (
        (fault == "NaN" and tags.allow_nan)
        or (fault == "strings" and tags.string)
        or (fault in ("NaN", "infinity") and subject.name in TAKES_ANY_NUMBER)
    )


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_rows_that_cannot_be_used_are_refused_and_leave_nothing_behind(subject):
    X, y = subject.data(60, 5)
    for fault, (spoil, words) in BAD_ROWS.items():
        if takes_fault(subject, fault):
            continue
        bad, model = spoil(X), subject.make()
        targets = None if y is None else y[: len(bad)]
        if subject.exempt(fault):
            model.fit(bad, targets)
            continue
        with pytest.raises(ValueError, match=words):
            model.fit(bad, targets)
        assert not fitted(model), fault


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_a_failed_refit_leaves_the_earlier_fit_whole(subject):
    X, y = subject.data(60, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make().fit(X, y)
    before = digest(fitted(model))
    # A table, and what is only scaled or isolated, may have columns that are all missing, but none of infinities.
    tags = get_tags(model).input_tags
    scaled = subject.name in ("IsolationForest", "PowerTransformer", "QuantileTransformer", "VarianceThreshold")
    scaled |= subject.name.endswith(("Scaler", "Imputer"))
    table = tags.string or scaled
    with pytest.raises(ValueError, match="infinity" if table else "NaN"):
        model.fit(np.full((60, 3), np.inf if table else np.nan), y)
    assert digest(fitted(model)) == before


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_predicting_checks_the_fit_the_width_and_the_values(subject):
    X, y = subject.data(60, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make().fit(X, y)
    methods = outputs(model, X)
    if methods and subject.make().__sklearn_tags__().requires_fit:
        with pytest.raises(NotFittedError):
            outputs(subject.make(), X)
    for method in methods:
        with pytest.raises(ValueError, match="5 features"):
            getattr(model, method)(X[:, :4])
        if subject.name not in TAKES_ANY_NUMBER and not get_tags(model).input_tags.allow_nan:
            with pytest.raises(ValueError, match="NaN"):
                getattr(model, method)(np.full((2, 5), np.nan))


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_one_row_and_constant_columns_fit_or_say_why_not(subject):
    X, y = subject.data(60, 5)
    flat = X.copy()
    flat[:, 2] = 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows, targets in ((flat, y), (X[:1], None if y is None else y[:1])):
            try:
                found = outputs(subject.make().fit(rows, targets), rows)
            except ValueError as error:
                words = str(error)
                assert any(word in words for word in (("rank",) if rows is flat else ("1", "one", "class", "rank")))
            else:
                assert all(np.isfinite(v).all() for v in found.values() if v.dtype.kind == "f")


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_extreme_scales_give_finite_numbers_or_an_error(subject):
    X, y = subject.data(60, 5)
    for scale in (1e-150, 1e100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = subject.make().fit(X * scale, y)
            except (ValueError, MemoryForecastError) as error:
                words = str(error)
                assert words, scale
            else:
                found = outputs(model, X * scale)
                assert all(np.isfinite(v).all() for v in found.values() if v.dtype.kind == "f"), scale


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_parameters_out_of_range_are_refused_by_the_declared_sentence(estimator):
    X, y = next(subject for subject in SUBJECTS if subject.estimator is estimator).data(60, 5)
    for name, rule in estimator._parameters.items():
        for value in rule.list_refused():
            model = estimator(**required(estimator) | {name: value})
            with pytest.raises(ParameterError) as caught:
                model.fit(X, y)
            assert str(caught.value) == f"{estimator.__name__}: {name} must be {rule.text}; got {value!r}."
            assert isinstance(caught.value, ValueError | TypeError)
