"""Powers of columns: their likelihood against SciPy's, closed forms, columns far from zero, places and errors."""

import numpy as np
import pytest
import scipy.stats
import sklearn.preprocessing

from mercer.errors import DataError
from mercer.preprocessing import PowerTransformer


def make_rows(kind, seed=0, n=300):
    normal = np.random.default_rng(seed).normal(size=(n, 3))
    return {
        "mixed": normal,
        "skew": np.sinh(normal),
        "positive": np.exp(normal),
        "negative": -np.exp(normal),
        "tiny": 1e-6 * normal,
        "huge": 1e6 * np.exp(normal),
    }[kind]


@pytest.mark.parametrize("kind", ["mixed", "skew", "positive", "negative", "tiny", "huge"])
@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_the_likelihood_is_at_least_that_of_scikit_learn(kind, method):
    rows = make_rows(kind)
    if method == "box-cox" and rows.min() <= 0:
        rows = np.abs(rows)
    ours = PowerTransformer(method).fit(rows)
    theirs = sklearn.preprocessing.PowerTransformer(method=method).fit(rows)
    measure = scipy.stats.boxcox_llf if method == "box-cox" else scipy.stats.yeojohnson_llf
    for column, lambda_, other in zip(rows.T, ours.lambdas_, theirs.lambdas_, strict=True):
        best = measure(lambda_, column)
        assert best >= measure(other, column) - 1e-10 * abs(best)
    np.testing.assert_allclose(ours.lambdas_, theirs.lambdas_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ours.transform(rows), theirs.transform(rows), atol=1e-4)
    assert ours.converged_
    assert ours.certificate_.value <= 1e-8


def test_the_slope_of_the_likelihood_is_zero():
    rows = make_rows("skew", n=200)
    found = PowerTransformer().fit(rows).lambdas_
    for column, lambda_ in zip(rows.T, found, strict=True):
        near = [scipy.stats.yeojohnson_llf(lambda_ + step, column) for step in (-1e-3, 0.0, 1e-3)]
        slope, curvature = (near[2] - near[0]) / 2e-3, (near[0] - 2 * near[1] + near[2]) / 1e-6
        assert curvature < 0
        assert abs(slope / curvature) < 1e-5


def test_evenly_spaced_exponentials_have_the_power_zero():
    rows = np.exp([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    assert abs(PowerTransformer("box-cox").fit(rows).lambdas_[0]) < 1e-8
    assert abs(PowerTransformer().fit(np.exp([[1.0], [2.0], [3.0]]) - 1.0).lambdas_[0]) < 1e-8


@pytest.mark.parametrize("far", [2e3, -2e3, 1e6])
def test_columns_far_from_zero_come_out_standard_and_go_back(far):
    rows = far + np.random.default_rng(0).normal(size=(200, 2))
    model = PowerTransformer().fit(rows)
    result = model.transform(rows)
    np.testing.assert_allclose(result.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(result.std(axis=0), 1.0, rtol=1e-6)
    np.testing.assert_allclose(model.inverse_transform(result), rows, rtol=1e-9)
    # The order of the values stays.
    assert (np.argsort(result, axis=0) == np.argsort(rows, axis=0)).all()


@pytest.mark.parametrize("kind", ["mixed", "positive", "negative"])
@pytest.mark.parametrize("standardize", [True, False])
def test_new_rows_of_either_sign_are_mapped_as_scikit_learn_does_and_back(kind, standardize):
    model = PowerTransformer(standardize=standardize).fit(make_rows(kind))
    theirs = sklearn.preprocessing.PowerTransformer(standardize=standardize).fit(make_rows(kind))
    new = np.linspace(-0.3, 0.3, 7)[:, None] * np.ones(3)
    result = model.transform(new)
    np.testing.assert_allclose(result, theirs.transform(new), atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(model.inverse_transform(result), new, atol=1e-12)


def test_missing_entries_are_left_out_and_stay():
    rows = make_rows("positive")
    holes = rows.copy()
    holes[::7, 1] = np.nan
    found = PowerTransformer().fit(holes)
    alone = PowerTransformer().fit(rows[np.arange(len(rows)) % 7 != 0, 1:2])
    np.testing.assert_allclose(found.lambdas_[1], alone.lambdas_[0], rtol=1e-9)
    assert (np.isnan(found.transform(holes)) == np.isnan(holes)).all()


def test_a_file_gives_the_powers_of_memory(tmp_path):
    rows = make_rows("skew", n=500)
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    np.testing.assert_allclose(
        PowerTransformer().fit(tmp_path / "rows.csv").lambdas_, PowerTransformer().fit(rows).lambdas_, rtol=1e-9
    )


def test_a_constant_column_keeps_its_power():
    for method in ("yeo-johnson", "box-cox"):
        model = PowerTransformer(method).fit([[3.0, 1.0], [3.0, 2.0], [3.0, 4.0]])
        assert model.lambdas_[0] == 1.0
        assert model.transform([[3.0, 1.0]])[0, 0] == 0.0


def test_errors_name_the_column_and_the_cure():
    with pytest.raises(DataError, match=r"strictly positive data; got -1 in column 1\. Set method='yeo-johnson'"):
        PowerTransformer("box-cox").fit([[1.0, -1.0], [2.0, 3.0]])
    with pytest.raises(DataError, match=r"column 1 is\. Leave it out"):
        PowerTransformer("box-cox").fit([[1.0, np.nan], [2.0, np.nan]])
    model = PowerTransformer("box-cox").fit([[1.0], [2.0], [5.0]])
    with pytest.raises(DataError, match="got 0 in column 0"):
        model.transform([[0.0]])
    with pytest.raises(DataError, match="infinity"):
        PowerTransformer().fit([[1.0], [np.inf]])
    with pytest.warns(UserWarning, match="column 0 of the inverse-transformed data are NaN"):
        PowerTransformer("box-cox").fit([[1.0], [2.0], [3.0]]).inverse_transform([[-1e9]])
