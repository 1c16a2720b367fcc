"""Missing entries from the other columns: closed forms, scikit-learn's answers, and the same in every place."""

import importlib

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor as TheirForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression as TheirRegression

import mercer
from mercer.errors import DataError
from mercer.impute import IterativeImputer, SimpleImputer
from mercer.linear_model import LinearRegression

importlib.import_module("sklearn.experimental.enable_iterative_imputer")
TheirImputer = importlib.import_module("sklearn.impute._iterative").IterativeImputer
NAN = np.nan


def draw(seed, n=200, d=4, missing=0.1):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d)) @ random.normal(size=(d, d)) + random.normal(size=d)
    rows[random.random(rows.shape) < missing] = NAN
    return rows


def test_entries_on_a_line_are_found_again():
    """The second column is twice the first: least squares are exact, whatever the first guess."""
    first = np.arange(1.0, 9.0)
    rows = np.column_stack([first, 2 * first])
    rows[2, 1], rows[5, 0] = NAN, NAN
    filled = IterativeImputer(LinearRegression(), max_iter=50, tol=1e-12).fit_transform(rows)
    assert filled == pytest.approx(np.column_stack([first, 2 * first]), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", ["ascending", "descending", "roman", "arabic"])
def test_answers_are_those_of_scikit_learn(seed, order):
    rows = draw(seed)
    options = {"max_iter": 5, "tol": 0.0, "imputation_order": order, "add_indicator": True}
    with pytest.warns(ConvergenceWarning):
        mine = IterativeImputer(LinearRegression(), **options).fit(rows)
    with pytest.warns(ConvergenceWarning):
        theirs = TheirImputer(TheirRegression(), **options).fit(rows)
    new = draw(seed + 100)
    for one in (rows, new):
        assert mine.transform(one) == pytest.approx(theirs.transform(one), rel=1e-7, abs=1e-9)
    assert mine.n_iter_ == theirs.n_iter_
    assert mine.n_features_with_missing_ == theirs.n_features_with_missing_


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_units_of_all_columns_do_not_matter_to_least_squares(factor):
    rows = draw(1)
    made = [IterativeImputer(LinearRegression(), max_iter=30).fit(one) for one in (rows, factor * rows)]
    assert made[0].n_iter_ == made[1].n_iter_
    first, second = (imputer.transform(one) for imputer, one in zip(made, (rows, factor * rows), strict=True))
    assert second / factor == pytest.approx(first, rel=1e-6, abs=1e-8)


def test_blocks_in_files_streams_and_dask_give_what_an_array_gives(tmp_path):
    array = pytest.importorskip("dask.array")
    rows = draw(2, n=300)
    np.save(tmp_path / "rows.npy", rows)
    here = IterativeImputer(max_iter=4, tol=1.0).fit(rows)
    for where in (
        tmp_path / "rows.npy",
        [rows[:120], rows[120:]],
        array.from_array(rows, chunks=(110, 4)),
    ):
        there = IterativeImputer(max_iter=4, tol=1.0).fit(where)
        assert there.n_iter_ == here.n_iter_
        assert there.transform(rows) == pytest.approx(here.transform(rows), rel=1e-9)
    assert np.asarray(here.transform(tmp_path / "rows.npy")) == pytest.approx(here.transform(rows), rel=1e-12)


def test_an_estimator_that_takes_no_streams_is_refused_elsewhere(tmp_path):
    np.save(tmp_path / "rows.npy", draw(3))
    with pytest.raises(DataError, match="need an estimator that takes streams; RandomForestRegressor does not"):
        IterativeImputer(TheirForest(n_estimators=2)).fit(tmp_path / "rows.npy")


@pytest.mark.parametrize("keep", [False, True])
def test_columns_without_known_entries_are_left_out_or_kept_as_zeros(keep):
    rows = np.insert(draw(4), 1, NAN, axis=1)
    imputer = IterativeImputer(keep_empty_features=keep, max_iter=3, tol=1.0)
    if keep:
        filled = imputer.fit_transform(rows)
        assert (filled[:, 1] == 0).all()
    else:
        with pytest.warns(UserWarning, match="Skipping features without any observed values"):
            filled = imputer.fit_transform(rows)
    assert filled.shape[1] == 4 + keep
    assert list(imputer.get_feature_names_out()) == ["x0", *(["x1"] if keep else []), "x2", "x3", "x4"]


def test_draws_have_the_deviation_of_the_prediction_and_stay_within_the_bounds():
    rows = np.insert(draw(5, n=400, missing=0.0), 0, NAN, axis=1)
    random = np.random.default_rng(0)
    rows[:, 0] = rows[:, 1] + random.normal(size=400)
    wanted = rows[:100, 0].copy()
    rows[:100, 0] = NAN
    drawn = IterativeImputer(sample_posterior=True, random_state=0, max_iter=2).fit_transform(rows)[:100, 0]
    # The noise has deviation 1: its estimate is off by some 1 / sqrt(2 * 100), here within four times that.
    assert np.std(drawn - rows[:100, 1]) == pytest.approx(1.0, abs=4 / np.sqrt(200))
    assert not np.allclose(drawn, wanted)
    bounded = IterativeImputer(sample_posterior=True, random_state=0, max_iter=2, min_value=-0.5, max_value=0.5)
    filled = bounded.fit_transform(rows)[:100, 0]
    assert filled.min() >= -0.5
    assert filled.max() <= 0.5
    assert bounded.transform(rows) == pytest.approx(bounded.transform(rows))
    free = IterativeImputer(sample_posterior=True, max_iter=2).fit(rows)
    assert (free.transform(rows)[:100, 0] != free.transform(rows)[:100, 0]).all()


def test_a_fit_that_goes_on_from_no_rounds_gives_the_first_guesses():
    rows = draw(6)
    imputer = IterativeImputer(max_iter=0).fit(rows)
    assert imputer.transform(rows) == pytest.approx(SimpleImputer().fit_transform(rows))
    assert imputer.n_iter_ == 0


def test_a_saved_imputer_gives_the_same_entries(tmp_path):
    rows = draw(7)
    imputer = IterativeImputer(max_iter=3, tol=1.0, n_nearest_features=2, random_state=1, add_indicator=True).fit(rows)
    mercer.save(imputer, tmp_path / "imputer.mercer")
    assert (mercer.load(tmp_path / "imputer.mercer").transform(rows) == imputer.transform(rows)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing_values": "?"}, "types are expected to be both numerical"),
        ({"min_value": 1.0, "max_value": 0.0}, "min_value >= max_value"),
        ({"min_value": [0.0, 1.0]}, r"'min_value' should be of shape \(4,\)"),
    ],
)
def test_what_cannot_be_filled_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        IterativeImputer(**options).fit(draw(8, missing=0.0))
