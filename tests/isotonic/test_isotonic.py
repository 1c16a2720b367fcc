"""Isotonic regression: the quadratic program it solves, ties, weights, bounds, units, places of rows, files."""

import numpy as np
import pandas
import pytest
import sklearn.isotonic
from scipy.optimize import minimize

import mercer
from mercer.isotonic import IsotonicRegression
from tests.laws.subjects import digest, fitted


def draw(n=60, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    return x, np.sin(x) + 0.5 * random.normal(size=n), random.integers(0, 4, n).astype(float)


def test_no_function_that_never_falls_is_closer_to_the_targets():
    x, y, weight = draw(12)
    weight[0] = 1.0
    model = IsotonicRegression().fit(x, y, weight)
    order = np.argsort(x)

    def measure(values):
        return np.sum(weight[order] * (y[order] - values) ** 2)

    rising = {"type": "ineq", "fun": np.diff}
    best = minimize(measure, np.linspace(-1, 1, 12), constraints=[rising], method="SLSQP", options={"ftol": 1e-12})
    inside = weight[order] > 0
    found = np.interp(x[order], model.X_thresholds_, model.y_thresholds_)
    assert measure(found) == pytest.approx(best.fun, rel=1e-6)
    assert (np.diff(found[inside]) >= 0).all()
    assert model.history_["objective"][-1] == pytest.approx(best.fun / weight.sum(), rel=1e-6)
    assert model.converged_
    assert model.certificate_.value < 1e-14


def test_the_certificate_does_not_hold_for_another_fit():
    from mercer.isotonic._isotonic import certify_blocks

    y, weight = np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)
    assert certify_blocks(y, weight, np.array([1.0, 2.5, 2.5, 4.0]), True).satisfied
    for wrong in ([1.0, 3.0, 2.0, 4.0], [2.0, 2.0, 2.0, 4.0], [2.5, 2.5, 2.5, 2.5], [1.0, 2.4, 2.4, 4.0]):
        assert not certify_blocks(y, weight, np.array(wrong), True).satisfied, wrong


@pytest.mark.parametrize("increasing", [True, False, "auto"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_answers_are_those_of_scikit_learn(increasing, dtype):
    x, y, weight = draw(300)
    x = x.round(1).astype(dtype)  # many ties
    settings = {"increasing": increasing, "y_min": -0.7, "y_max": 0.8, "out_of_bounds": "clip"}
    ours = IsotonicRegression(**settings).fit(x, y, weight)
    theirs = sklearn.isotonic.IsotonicRegression(**settings).fit(x, y, weight)
    new = np.linspace(-4, 4, 50).astype(dtype)
    assert ours.predict(new).dtype == dtype
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-6 if dtype == np.float32 else 1e-12)
    assert ours.increasing_ == theirs.increasing_
    np.testing.assert_array_equal(ours.f_(new), ours.transform(new))


def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter():
    x, y, weight = draw(200)
    x = x.round(1)
    order = np.random.default_rng(1).permutation(200)
    new = np.linspace(x.min(), x.max(), 77)
    weighted = IsotonicRegression(out_of_bounds="clip").fit(x, y, weight).predict(new)
    counts = weight.astype(int)
    for other in (
        IsotonicRegression(out_of_bounds="clip").fit(x.repeat(counts), y.repeat(counts)),
        IsotonicRegression(out_of_bounds="clip").fit(x[order], y[order], weight[order]),
    ):
        np.testing.assert_allclose(other.predict(new), weighted, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    x, y, _ = draw()
    plain = IsotonicRegression().fit(x, y)
    np.testing.assert_allclose(IsotonicRegression().fit(factor * x, y).predict(factor * x), plain.predict(x))
    scaled = IsotonicRegression().fit(x, factor * y)
    np.testing.assert_allclose(scaled.predict(x), factor * plain.predict(x))
    assert scaled.converged_
    moved = IsotonicRegression().fit(x + 1e8, y)
    assert moved.certificate_.satisfied


def test_any_form_of_one_column_gives_the_same_bits(tmp_path):
    x, y, _ = draw()
    plain = digest(fitted(IsotonicRegression().fit(x, y)) | {"feature_names_in_": None})
    for form in (x[:, None], x.tolist(), pandas.DataFrame({"a": x}), pandas.Series(x), np.repeat(x, 2)[::2]):
        model = IsotonicRegression().fit(form, y)
        assert digest(fitted(model) | {"feature_names_in_": None}) == plain
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(x), model.predict(x))


def test_outside_of_the_column_there_is_nan_the_nearest_end_or_an_error():
    x, y, _ = draw()
    assert np.isnan(IsotonicRegression().fit(x, y).predict([-9.0, 9.0])).all()
    clipped = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    assert clipped.predict([-9.0, 9.0]).tolist() == [clipped.y_thresholds_[0], clipped.y_thresholds_[-1]]
    with pytest.raises(ValueError, match=r"values must be in \[0, 2\], where the fit was; got 9"):
        IsotonicRegression(out_of_bounds="raise").fit([0.0, 2.0], [1.0, 2.0]).predict([1.0, 9.0])


def test_one_row_equal_rows_and_constant_targets():
    assert IsotonicRegression().fit([2.0], [3.0]).predict([2.0, 7.0]).tolist() == [3.0, 3.0]
    assert IsotonicRegression().fit([2.0, 2.0], [3.0, 5.0]).predict([2.0]).tolist() == [4.0]
    flat = IsotonicRegression().fit([1.0, 2.0, 3.0], [5.0, 5.0, 5.0])
    assert flat.predict([1.5]).tolist() == [5.0]
    assert flat.converged_


def test_tables_and_missing_values_are_refused():
    x, y, _ = draw()
    with pytest.raises(ValueError, match="should be a 1d array or 2d array with 1 feature; got the shape"):
        IsotonicRegression().fit(np.column_stack([x, x]), y)
    with pytest.raises(ValueError, match="NaN"):
        IsotonicRegression().fit(np.append(x[:-1], np.nan), y)
