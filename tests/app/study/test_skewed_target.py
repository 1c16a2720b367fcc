"""A skewed positive target: its logarithm is tried inside the folds, and predictions stay positive."""

import numpy as np
import pandas

import mercer
from mercer.app.study.material import Material
from mercer.app.study.recipe import is_skewed


def _make_rows(n_rows=160):
    random = np.random.default_rng(0)
    size, year = random.normal(size=n_rows), random.normal(size=n_rows)
    return pandas.DataFrame({"size": size, "year": year, "price": np.exp(2 * size + 0.5 * year) + 1e-3})


def test_skewness_is_measured_on_positive_targets_without_weights():
    random = np.random.default_rng(1)
    heavy, plain = np.exp(2 * random.normal(size=200)), random.normal(10, 1, size=200)

    def ask(y, **known):
        return is_skewed(Material("regression", None, y, np.arange(len(y)), {}, [], **known))

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
