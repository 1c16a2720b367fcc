"""Missing entries from the nearest rows: by hand, by brute force, and what is left to scikit-learn."""

import importlib

import numpy as np
import pytest
from sklearn.impute import KNNImputer as TheirImputer

import mercer
from mercer.impute import KNNImputer

NAN = np.nan


def draw(n=60, d=5, seed=0, missing=0.2):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d))
    rows[random.random(rows.shape) < missing] = NAN
    return rows


def fill_by_definition(train, rows, k, weights):
    """The definition, entry by entry."""
    filled = rows.copy()
    for i, j in np.argwhere(np.isnan(rows)):
        squares = (train - rows[i]) ** 2
        shared = (~np.isnan(squares)).sum(axis=1)
        distances = np.sqrt(np.nansum(squares, axis=1) * rows.shape[1] / np.maximum(shared, 1))
        donors = np.flatnonzero((shared > 0) & ~np.isnan(train[:, j]))
        nearest = donors[np.argsort(distances[donors], kind="stable")[:k]]
        heavy = np.ones(len(nearest))
        if weights == "distance":
            near = distances[nearest]
            heavy = (near == 0).astype(float) if (near == 0).any() else 1 / near
        filled[i, j] = np.average(train[nearest, j], weights=heavy) if len(nearest) else np.nanmean(train[:, j])
    return filled


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_entries_are_those_of_the_definition(weights, k, scale):
    train, rows = draw() * scale, np.r_[draw(20, seed=1), np.full((1, 5), NAN)] * scale
    train[0], rows[0] = [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, NAN]
    found = KNNImputer(n_neighbors=k, weights=weights).fit(train).transform(rows)
    np.testing.assert_allclose(found, fill_by_definition(train, rows, k, weights), rtol=1e-12)


def test_entries_are_those_of_scikit_learn():
    rows = draw(200)
    found = KNNImputer(weights="distance", add_indicator=True).fit_transform(rows)
    np.testing.assert_allclose(found, TheirImputer(weights="distance", add_indicator=True).fit_transform(rows))


def test_columns_without_entries_and_other_marks():
    rows = np.array([[-1.0, -1.0, 2.0], [3.0, -1.0, -1.0], [5.0, -1.0, 6.0]])
    found = KNNImputer(missing_values=-1, n_neighbors=1).fit_transform(rows)
    np.testing.assert_array_equal(found, [[5.0, 2.0], [3.0, 6.0], [5.0, 6.0]])
    kept = KNNImputer(missing_values=-1, n_neighbors=1, keep_empty_features=True)
    np.testing.assert_array_equal(kept.fit_transform(rows)[:, 1], 0.0)
    assert kept.get_feature_names_out().tolist() == ["x0", "x1", "x2"]


def test_functions_are_left_to_scikit_learn():
    rows = draw()
    weigh = {"weights": lambda distances: np.exp(-distances)}
    np.testing.assert_array_equal(KNNImputer(**weigh).fit_transform(rows), TheirImputer(**weigh).fit_transform(rows))


def test_models_survive(tmp_path):
    rows = draw()
    model = KNNImputer(add_indicator=True).fit(rows)
    mercer.save(model, tmp_path / "imputer.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "imputer.mercer").transform(rows), model.transform(rows))


@pytest.mark.parametrize("level", ["interpreted"])
def test_native_code_agrees_with_its_source(level):
    source = importlib.import_module(f"mercer._native.{level}.known_entries")
    from mercer._native.nearest import known_entries

    columns, rows = draw(30).T.copy(), draw(6, seed=2)
    results = []
    for module in (source, known_entries):
        out, scratch = rows.copy(), (np.empty(30), np.empty(30), np.empty(4), np.empty(4, np.int64))
        wanted = np.isnan(rows).astype(np.uint8)
        module.fill_from_nearest(columns, rows, wanted, True, np.zeros(5), *scratch, out)
        results.append(out)
    np.testing.assert_array_equal(*results)
