"""Model files, fuzzed: whatever a file holds, the loader answers with a model or with ModelFileError."""

import json
import random

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import mercer
from mercer.errors import ModelFileError
from tests.base.model_file_workshop import assert_same, rewrite_header

X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 5.0]])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


@pytest.fixture(scope="module")
def model():
    return make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False), LogisticRegression()).fit(X, [0, 1, 0, 1])


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    target = tmp_path_factory.mktemp("saved") / "model.mercer"
    mercer.save(model, target)
    return target.read_bytes()


def answer(data, path):
    """Load bytes: the model, or None if they were refused."""
    path.write_bytes(data)
    try:
        return mercer.load(path)
    except ModelFileError:
        return None


# Accidents


def test_every_truncation_is_refused(saved, path):
    for length in range(0, len(saved), max(1, len(saved) // 200)):
        assert answer(saved[:length], path) is None


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_byte_is_refused_or_harmless(data, saved, model, path):
    position = data.draw(st.integers(0, len(saved) - 1))
    value = data.draw(st.integers(0, 255))
    loaded = answer(saved[:position] + bytes([value]) + saved[position + 1 :], path)
    if loaded is not None:
        assert_same(loaded, model)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_moved_and_repeated_pieces_are_refused_or_harmless(data, saved, model, path):
    first, last, target = (data.draw(st.integers(0, len(saved))) for _ in range(3))
    piece = saved[min(first, last) : max(first, last)]
    loaded = answer(saved[:target] + piece + saved[target + len(piece) * data.draw(st.integers(0, 1)) :], path)
    if loaded is not None:
        assert_same(loaded, model)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_random_bytes_are_refused(data, path):
    assert answer(data, path) is None


# Enemies, who can compute checksums

JUNK = [
    *(None, True, -1, 0, 2**53, "", "x", "|O", "os.system", [], [[]], {}, {"type": "array", "index": 0}, [0, 1], 2**40),
    *(
        {"type": "same", "id": 0},
        {"type": "dict", "items": []},
        {"type": "tuple", "items": [1]},
        "sklearn.pipeline.Pipeline",
    ),
    {"type": "object", "class": "sklearn.pipeline.Pipeline", "version": 1, "params": {}, "state": {}, "requests": {}},
]


def mutate(node, choose):
    """Replace one random part of a JSON tree by junk, or drop or double it."""
    places = []

    def visit(inner):
        items = inner.items() if isinstance(inner, dict) else enumerate(inner)
        for key, item in list(items):
            places.append((inner, key))
            if isinstance(item, dict | list):
                visit(item)

    visit(node)
    container, key = choose.choice(places)
    action = choose.random()
    if action < 0.15:
        del container[key]
    elif action < 0.25 and isinstance(container, list):
        container.append(container[key])
    elif action < 0.35:
        container[key] = choose.choice(places)[0]
        json.dumps(node)  # ValueError if that made a cycle
    else:
        container[key] = choose.choice(JUNK)


def attack(saved, path, seed):
    """Load a file whose header has been changed in one to three places; return whether it was refused."""
    choose = random.Random(seed)

    def change(header):
        for _ in range(choose.randint(1, 3)):
            mutate(header, choose)

    path.write_bytes(saved)
    try:
        rewrite_header(path, change)
    except (ValueError, RecursionError):
        return True  # not JSON any more
    try:
        mercer.load(path)
    except ModelFileError:
        return True
    return False


def test_a_forged_header_is_refused_or_gives_a_model(saved, path):
    refused = [attack(saved, path, seed) for seed in range(300)]
    assert sum(refused) > 150


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    """A model that holds every kind of node that an enemy could bend."""
    model = StandardScaler().fit(X)
    model.extra_ = [np.random.default_rng(1), np.random.RandomState(2), scipy.sparse.csr_array(X), {1: 2}, {"a", 3}]
    model.more_ = [np.ma.masked_array([1.0], [True]), np.float32(1), np.dtype("U3"), slice(1), range(3), 1.5, 2j, b"x"]
    model.last_ = [np.array(["a", None], dtype=object), np.array([True]), np.array(["é"]), scipy.sparse.coo_matrix(X)]
    target = tmp_path_factory.mktemp("varied") / "model.mercer"
    mercer.save(model, target)
    return target.read_bytes()


def test_forged_values_are_refused_or_give_a_model(varied, path):
    refused = [attack(varied, path, seed) for seed in range(300)]
    assert sum(refused) > 100


@pytest.mark.soak
def test_many_more_attacks(saved, varied, model, path):
    for seed in range(10_000):
        attack(varied if seed % 2 else saved, path, 1000 + seed)
        choose = random.Random(seed)
        data = bytearray(saved)
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(len(data))] = choose.randrange(256)
        loaded = answer(bytes(data), path)
        if loaded is not None:
            assert_same(loaded, model)
