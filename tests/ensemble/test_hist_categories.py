"""Splits by categories in histogram boosting: their price, by hand, without signal, and for repeated rows."""

import numpy as np
import pytest

from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mercer.errors import ParameterError


def six_kinds():
    """Return six categories of twenty rows, three with a mean of -1 and three of +1, and noise of +-1 around them."""
    kind = np.repeat(np.arange(6.0), 20)
    y = np.where(kind % 2 == 0, -1.0, 1.0) + np.tile([-1.0, 1.0], 60)
    return kind[:, None], y


def fit_one_split(X, y, **settings):
    model = HistGradientBoostingRegressor(
        max_iter=1, learning_rate=1.0, max_leaf_nodes=2, categorical_features=[0], **settings
    )
    return model.fit(X, y)


@pytest.mark.parametrize(("share", "splits"), [(0.999, True), (1.001, False)])
def test_a_split_must_gain_the_price_of_its_categories_beyond_four(share, splits):
    X, y = six_kinds()
    # Two sides of 60 rows with sums of -60 and 60 save 2 * 60^2 / 60; squares of 4 and 0 are two in the mean.
    gain, chance = 120.0, 2.0
    model = fit_one_split(X, y, category_price=share * gain / (2 * chance))
    assert np.ptp(model.predict(X)) == pytest.approx(2.0 if splits else 0.0)


def test_up_to_four_categories_have_no_price():
    X, y = six_kinds()
    few = X[:, 0] < 4
    assert np.ptp(fit_one_split(X[few], y[few], category_price=1e6).predict(X[few])) == pytest.approx(2.0)


def test_a_column_of_many_categories_without_signal_is_hardly_asked():
    random = np.random.default_rng(0)
    # Twenty rows in a category: their mean target varies by 0.11 of chance alone, by 0.17 where columns have a signal.
    X = np.column_stack([random.integers(200, size=4000), random.normal(size=(4000, 2))]).astype(float)
    y = (random.uniform(size=4000) < 1 / (1 + np.exp(-0.7 * X[:, 1] * X[:, 2]))).astype(int)
    share = {
        price: HistGradientBoostingClassifier(max_iter=20, categorical_features=[0], category_price=price)
        .fit(X, y)
        .feature_importances_[0]
        for price in (0.0, 0.3)
    }
    assert share[0.0] > 0.2
    assert share[0.3] < 0.4 * share[0.0]


@pytest.mark.parametrize("Model", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_a_weight_is_repetitions_also_where_categories_have_a_price(Model):
    random = np.random.default_rng(1)
    X = np.column_stack([random.integers(30, size=600), random.normal(size=600)]).astype(float)
    y = (X[:, 0] % 3 + X[:, 1] + random.normal(size=600) > 1).astype(int)
    times = random.integers(1, 4, size=600)
    settings = {"max_iter": 20, "categorical_features": [0], "early_stopping": False}
    weighted = Model(**settings).fit(X, y, sample_weight=times)
    repeated = Model(**settings).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted._raw_predict(X), repeated._raw_predict(X), rtol=1e-9, atol=1e-12)


def test_the_price_does_not_depend_on_the_unit_of_the_target():
    random = np.random.default_rng(2)
    X = np.column_stack([random.integers(100, size=2000), random.normal(size=2000)]).astype(float)
    y = np.sin(X[:, 0]) + X[:, 1] + random.normal(size=2000)
    models = [
        HistGradientBoostingRegressor(max_iter=10, categorical_features=[0]).fit(X, scale * y) for scale in (1, 1024)
    ]
    np.testing.assert_array_equal(1024 * models[0].predict(X), models[1].predict(X))


def test_a_negative_price_is_named():
    X, y = six_kinds()
    message = r"HistGradientBoostingRegressor: category_price must be a number in \[0, inf\); got -1.0."
    with pytest.raises(ParameterError, match=message):
        fit_one_split(X, y, category_price=-1.0)
