"""Guards against hostile inputs: each kind of raw error is a sentence, answers are finite, and a fit warns once."""

import re
import warnings
from decimal import Decimal

import numpy as np
import pandas
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer._base.guard import NOTED, FitGuard, are_ordinary
from mercer.cluster import KMeans, linkage
from mercer.errors import DataError, DataTypeError, MemoryForecastError
from mercer.hmm import GaussianHMM
from mercer.linear_model import BayesianRidge, LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge
from mercer.naive_bayes import GaussianNB
from mercer.tree import DecisionTreeRegressor

X = np.random.default_rng(0).normal(size=(30, 3))
y = X @ [1.0, 2.0, 3.0]


def _broken(part: str, place: int, value: int) -> csr_array:
    matrix = csr_array(X)
    getattr(matrix, part)[place] = value
    return matrix


def _odd(value: object) -> np.ndarray:
    rows = X.astype(object)
    rows[0, 0] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "targets", "words"),
    [
        (np.full(X.shape, "ash"), y, r"X must hold numbers; row 0, column 0 holds 'ash'"),
        ([[1.0, 2.0], [3.0]] * 15, y, r"rows of equal length; row 0 has 2 values, row 1 has 1"),
        (np.zeros(30, [("a", float), ("b", float)]), y, r"structured array with the fields a, b"),
        (X, np.full(30, "ash"), r"y must hold numbers; place 0 holds 'ash'"),
        (X, np.arange(30).astype("datetime64[D]"), r"y must hold numbers; got dates"),
        (X, np.arange(30).astype("timedelta64[s]"), r"y must hold numbers; got durations"),
        (X, y.astype(complex), "(?i)complex data not supported"),
        (X, csr_array(y[:, None]), r"y must be dense; got a sparse matrix|for y is not supported; give y.toarray"),
        (X, [{value} for value in y], r"y must hold numbers or labels; got a set"),
        (_odd(10**400), y, r"row 0, column 0 holds '1000.*too large for a float"),
        (_odd(Decimal("sNaN")), y, "row 0, column 0 holds 'sNaN', a Decimal"),
        (pandas.DataFrame(X, columns=["a", "b", "a"]), y, "columns of different names; 'a' comes more than once"),
        (np.ma.masked_greater(X, 1.0), y, "arrays may not hide values under a mask"),
        (X, np.ma.masked_greater(y, 1.0), "arrays may not hide values under a mask"),
        (_broken("indices", -1, 1000), y, "sparse matrix must hold indices inside its shape"),
        (_broken("indices", -1, -3), y, "sparse matrix must hold indices inside its shape"),
        (_broken("indptr", -1, 10**6), y, "sparse matrix must hold indices inside its shape"),
        (_broken("indptr", 15, 0), y, "sparse matrix must hold indices inside its shape"),
    ],
)
@pytest.mark.parametrize("model", [Ridge(), DecisionTreeRegressor()], ids=["Ridge", "tree"])
def test_raw_errors_become_sentences(model, rows, targets, words):
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(rows, targets)


def test_type_errors_stay_type_errors():
    rows = X.astype(object)
    rows[0, 0] = {"a": 1}
    with pytest.raises(DataTypeError, match="row 0, column 0 holds"):
        Ridge().fit(rows, y)


def test_labels_of_different_types_are_named():
    labels = np.array(["ash", None, 3.0] * 10, dtype=object)
    with pytest.raises(DataError, match="targets of one kind; got NoneType, float, str"):
        GaussianNB().fit(X, labels)


def test_coordinates_outside_a_sparse_matrix():
    rows = coo_array(X)
    rows.coords[1][0] = 77
    with pytest.raises(DataError, match="index 77 in an axis of 3"):
        Ridge().fit(rows, y)


@pytest.mark.parametrize("dtype", [">f8", ">f4"])
def test_the_other_byte_order_is_converted_everywhere(dtype):
    native = X.astype(dtype[1:])
    plain = Ridge().fit(native, y)
    other = Ridge().fit(X.astype(dtype), y.astype(">f8"), sample_weight=np.ones(30, ">f8"))
    np.testing.assert_array_equal(other.coef_, plain.coef_)
    np.testing.assert_array_equal(plain.predict(X.astype(dtype)), plain.predict(native))


def test_values_stored_twice_are_added():
    matrix = csr_array(X)
    doubled = csr_array((np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2), matrix.indptr * 2), shape=X.shape)
    np.testing.assert_allclose(Ridge().fit(doubled, y).coef_, Ridge().fit(matrix, y).coef_)
    assert doubled.nnz == 2 * matrix.nnz


def test_indices_that_were_changed_after_scipy_looked_at_them_are_put_in_order():
    matrix = csr_array(X)
    assert matrix.has_canonical_format
    matrix.indices[:] = 0
    summed = np.column_stack([X.sum(axis=1), np.zeros(30), np.zeros(30)])
    np.testing.assert_allclose(Ridge().fit(matrix, y).coef_, Ridge().fit(summed, y).coef_, atol=1e-12)


def test_sparse_values_that_native_code_cannot_read_are_converted_or_refused():
    plain = Ridge().fit(csr_array(X.astype(np.float16).astype(np.float64)), y)
    half, spread, texts = csr_array(X), csr_array(X), csr_array(X)
    half.data = X.astype(np.float16).ravel()
    np.testing.assert_array_equal(Ridge().fit(half, y).coef_, plain.coef_)
    spread.data = np.repeat(X.ravel(), 2)[::2]
    np.testing.assert_array_equal(
        KMeans(2, random_state=0).fit(spread).labels_, KMeans(2, random_state=0).fit(X).labels_
    )
    texts.data = np.full(X.size, "ash", dtype=object)
    with pytest.raises(DataTypeError, match="a sparse matrix must hold numbers; got object"):
        Ridge().fit(texts, y)


def test_rows_beyond_memory_are_a_sentence():
    with pytest.raises(MemoryForecastError, match="10000000000000 rows and 3 columns needs more memory"):
        Ridge().fit(np.broadcast_to(np.float32(1.5), (10**13, 3)), y)
    with pytest.raises(DataError, match="an array may have 2147483647 columns; got 10000000000000"):
        KMeans(2).fit(np.broadcast_to(np.float32(1.5), (3, 10**13)))
    with pytest.raises(DataError, match="a sparse matrix may have 2147483647 columns; got 1099511627776"):
        Ridge().fit(csr_array((30, 2**40)), y)


def test_a_row_that_is_shown_many_times_is_not_copied_beyond_the_limit():
    # A system may promise memory that it has not: the limit decides, not an error of the allocation.
    shown = np.broadcast_to(np.float64(1.5), (2**31, 2))
    with (
        mercer.config_context(max_memory=2**30),
        pytest.raises(MemoryForecastError, match="Ridge: a table of 2147483648 rows and 2 columns needs more memory"),
    ):
        Ridge().fit(shown, y)


def test_one_warning_names_the_units_and_what_the_arithmetic_met():
    odd = X.copy()
    odd[3, 0] = -1e300
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegression().fit(odd, y > 0)
    (said,) = (str(one.message) for one in caught if not issubclass(one.category, ConvergenceWarning))
    assert re.search(r"arithmetic of the fit met .*overflow.* times in all, and column 0 spreads over 1e\+300", said)


def test_a_fit_warns_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BayesianRidge().fit(X, y * 1e150)
    arithmetic = [warning for warning in caught if issubclass(warning.category, RuntimeWarning)]
    assert len(arithmetic) <= 1
    assert all("BayesianRidge" in str(warning.message) for warning in arithmetic)


def test_fits_and_answers_that_overflow_are_refused():
    with pytest.raises(DataError, match=r"KMeans: .*overflow"):
        KMeans(n_clusters=2, random_state=0).fit(X * 1e160)
    model = Ridge().fit(X, y)
    with pytest.raises(DataError, match=r"Ridge: the answer overflows: X holds values as large as 1e\+308"):
        model.predict(np.full((1, 3), 1e308))
    assert np.isfinite(model.predict(X)).all()
    assert not NOTED.extreme


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_nan_that_says_that_nothing_is_known_is_no_overflow(scale):
    """Rows no more than unknowns: nothing is left to tell the noise, in whatever units the columns are."""
    random = np.random.default_rng(0)
    X, y = scale * random.normal(size=(4, 6)), random.normal(size=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearRegression().fit(X, y)
    assert np.isnan(model.residual_variance_)
    np.testing.assert_allclose(model.predict(X), y)


def test_a_fit_inside_another_is_judged_by_its_own_rows():
    """A thread of the pool may hold the note of an earlier fit when it begins the next."""
    X, y = np.eye(3), np.arange(3.0)
    outer, inner = (FitGuard(LinearRegression(), LinearRegression.fit, (X, y), {}) for _ in range(2))
    with outer:
        NOTED.extreme = True
        with inner:
            assert not NOTED.extreme
        assert NOTED.extreme
    assert not NOTED.extreme


def test_the_model_before_a_failed_fit_is_kept():
    model = Ridge().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(DataError):
        model.fit(X, np.full(30, "ash"))
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize(
    ("value", "ordinary"),
    [(1.0, True), (np.nan, False), (np.inf, False), (1e155, False), (1e-160, False), (1e30, True)],
)
def test_extremes_are_noticed(value, ordinary):
    values = np.zeros((4, 2))
    values[1, 1] = value
    assert are_ordinary(values) == ordinary


def test_a_bug_of_the_library_stays_visible():
    class Broken(Ridge):
        def predict(self, X):
            return X.no_such_attribute

    with pytest.raises(AttributeError, match="no_such_attribute"):
        Broken().fit(X, y).predict(X)


def test_weights_of_any_size_leave_hierarchies_alone():
    rows = np.random.default_rng(1).normal(size=(12, 2))
    weight = np.random.default_rng(2).uniform(1, 2, 12)
    plain = linkage(rows, "ward", sample_weight=weight)
    for factor in (2.0**900, 2.0**-900):
        scaled = linkage(rows, "ward", sample_weight=weight * factor)
        np.testing.assert_array_equal(scaled[:, :2], plain[:, :2])
        np.testing.assert_allclose(scaled[:, 2], plain[:, 2] * np.sqrt(factor))
    with pytest.raises(DataError, match="must not differ by more than a factor of 1e\\+100"):
        linkage(rows, "ward", sample_weight=np.where(np.arange(12) < 6, 1e-200, 1e200))


@pytest.mark.parametrize("value", [5e-324, 1e308])
def test_weights_that_float64_cannot_sum_are_refused(value):
    with pytest.raises(DataError, match="sample_weight must have a sum and a largest value"):
        Ridge().fit(X, y, sample_weight=np.full(30, value))


def test_a_fold_without_weight_is_a_sentence():
    weight = np.zeros(30)
    weight[4] = 1.0
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(DataError, match="must have a positive total weight"):
        LogisticRegressionCV(cv=3, use_legacy_attributes=False).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n", [100, 20_000])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_one_value_that_is_not_ordinary_is_noticed_wherever_it_is(n, value):
    values = np.ones(n)
    assert are_ordinary(values)
    assert not are_ordinary(np.zeros(n))
    for place in (0, n // 2, n - 1):
        values[place] = value
        assert not are_ordinary(values)
        values[place] = 1.0


def test_an_argument_that_a_fit_does_not_take_is_named():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        GaussianHMM(2).fit(X, sample_weight=np.ones(20))
