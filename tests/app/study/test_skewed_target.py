"""A skewed positive target: its logarithm is tried inside the folds, and predictions stay positive."""

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.study.dataset import Dataset
from mercer.app.study.recipe import is_skewed, make_log_transformer


def _make_rows(n_rows=160):
    random = np.random.default_rng(0)
    size, year = random.normal(size=n_rows), random.normal(size=n_rows)
    return pandas.DataFrame({"size": size, "year": year, "price": np.exp(2 * size + 0.5 * year) + 1e-3})


def test_skewness_is_measured_on_positive_targets_without_weights():
    random = np.random.default_rng(1)
    heavy, plain = np.exp(2 * random.normal(size=200)), random.normal(10, 1, size=200)

    def ask(y, **known):
        return is_skewed(Dataset("regression", None, y, np.arange(len(y)), {}, [], **known))

    assert ask(heavy)
    assert not ask(plain)
    assert not ask(heavy - 1.0)
    assert not ask(heavy, weight=np.ones(200))
    assert not ask(heavy[:20])


def test_a_multiplicative_price_is_fitted_by_its_logarithm(tmp_path):
    rows = _make_rows()
    options = {"quick": True, "folds": 3, "inner": 2, "splits": "random", "metric": "mae"}
    study = mercer.run(rows, "price", candidates=["ridge regression"], **options)
    assert study.record.fit.settings["transformer"] == "log of the target"
    new = rows.assign(size=rows["size"] - 3.0)
    predicted = study.predict(new)["prediction"]
    assert predicted.min() > 0
    loaded = mercer.Study.load(study.save(tmp_path))
    np.testing.assert_allclose(loaded.predict(new)["prediction"], predicted)


def test_a_row_far_outside_the_others_gets_no_absurd_prediction(tmp_path):
    rows = _make_rows()
    options = {"quick": True, "folds": 3, "inner": 2, "splits": "random", "metric": "mae"}
    study = mercer.run(rows, "price", candidates=["ridge regression"], **options)
    far = rows.assign(size=40.0)
    predicted = study.predict(far)["prediction"]
    logs = np.log(rows["price"])
    np.testing.assert_allclose(predicted, np.exp(logs.max() + 0.25 * np.ptp(logs)))
    loaded = mercer.Study.load(study.save(tmp_path))
    np.testing.assert_array_equal(loaded.predict(far)["prediction"], predicted)


def test_the_transformed_target_has_the_spread_of_the_target():
    y = _make_rows()["price"].to_numpy()
    transformer = make_log_transformer(y)
    z = transformer.fit_transform(y[:, None])
    assert z.std() == pytest.approx(y.std())
    assert np.corrcoef(z[:, 0], np.log(y))[0, 1] == pytest.approx(1.0)
    np.testing.assert_allclose(transformer.inverse_transform(z)[:, 0], y)
    # Predictions go beyond both ends by a quarter of the range of the logarithm.
    ends, logs = transformer.inverse_transform([[-1e9], [1e9]])[:, 0], np.log(y)
    margin = 0.25 * np.ptp(logs)
    np.testing.assert_allclose(ends, np.exp([logs.min() - margin, logs.max() + margin]))
