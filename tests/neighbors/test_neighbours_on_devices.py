"""Nearest rows on devices: the bits of the CPU, also where ties and duplicates are more than the candidates."""

import array_api_strict
import numpy as np
import pytest
import torch

import mercer
from mercer._solver.neighbours import device_search
from mercer._source.namespace import to_numpy
from mercer.errors import DataError, ParameterError
from mercer.neighbors import KNeighborsClassifier, NearestNeighbors

LIBRARIES = {"torch": torch.asarray, "strict": array_api_strict.asarray}


def table(dtype=np.float64):
    """Rows on a coarse grid, with many ties, and 40 equal ones."""
    X = np.round(np.random.default_rng(0).normal(size=(300, 4)), 1)
    X[100:140] = X[0]
    return X.astype(dtype), np.round(np.random.default_rng(1).normal(size=(50, 4)), 1).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", LIBRARIES)
def test_neighbours_and_distances_are_those_of_the_cpu(monkeypatch, library, dtype):
    monkeypatch.setattr(device_search, "_TABLE", 7 * 300)
    X, queries = table(dtype)
    put = LIBRARIES[library]
    model, there = NearestNeighbors(n_neighbors=7).fit(X), NearestNeighbors(n_neighbors=7).fit(put(X))
    for rows in (queries, None):
        expected = model.kneighbors(rows)
        answers = there.kneighbors(None if rows is None else put(rows))
        assert all((to_numpy(answer) == part).all() for answer, part in zip(answers, expected, strict=True))
        assert type(answers[0]) is type(put(X))


def test_far_from_the_origin_rounding_hides_no_neighbour():
    X, queries = table()
    X, queries = X + 1e6, queries + 1e6
    expected = NearestNeighbors().fit(X).kneighbors(queries)
    answers = NearestNeighbors().fit(torch.asarray(X)).kneighbors(torch.asarray(queries))
    assert all((to_numpy(answer) == part).all() for answer, part in zip(answers, expected, strict=True))


def test_a_model_moves_with_its_rows():
    X, queries = table()
    labels = np.arange(300) % 3
    model = KNeighborsClassifier().fit(X, labels)
    moved = mercer.to_device(model, "torch:cpu")
    assert (to_numpy(moved.predict(torch.asarray(queries))) == model.predict(queries)).all()
    assert (mercer.to_device(moved, "cpu").predict(queries) == model.predict(queries)).all()
    assert moved.score(None, labels) == model.score(None, labels)


def test_what_a_device_cannot_do_is_refused_with_the_cure():
    rows = torch.asarray(table()[0])
    with pytest.raises(DataError, match=r"got rows in device .* Load them into memory first"):
        NearestNeighbors(metric="cosine").fit(rows)
    with pytest.raises(ParameterError, match="dense rows in memory"):
        NearestNeighbors(algorithm="nn_descent").fit(rows)
    with pytest.raises(DataError, match=r"needs all rows in memory; .* mercer.to_device"):
        NearestNeighbors().fit(rows).radius_neighbors(rows)
