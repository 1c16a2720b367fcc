"""Rows from dictionaries: by hand, as scikit-learn makes them, of streams and of Dask bags."""

import numpy as np
import pytest
from scipy.sparse import vstack
from sklearn.feature_extraction import DictVectorizer as TheirVectorizer
from sklearn.feature_extraction import FeatureHasher as TheirHasher

import mercer
from mercer.feature_extraction import DictVectorizer, FeatureHasher


def draw(seed, n=200):
    random = np.random.default_rng(seed)
    cities, ages = random.integers(0, 20, n), random.integers(0, 9, n)
    return [{"city": f"c{city}", "age": int(age), "x": float(age) / 3} for city, age in zip(cities, ages, strict=True)]


def test_texts_are_categories_and_numbers_stay_numbers():
    rows = [{"city": "Rome", "heat": 30}, {"city": "Oslo"}, {"heat": None, "tags": ["a", "b"]}]
    made = DictVectorizer(sparse=False)
    wanted = [[0, 1, 30, 0, 0], [1, 0, 0, 0, 0], [0, 0, np.nan, 1, 1]]
    assert made.fit_transform(rows) == pytest.approx(np.array(wanted), nan_ok=True)
    assert made.feature_names_ == ["city=Oslo", "city=Rome", "heat", "tags=a", "tags=b"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sort", [True, False])
def test_rows_are_those_of_scikit_learn(seed, sort):
    samples, new = draw(seed), [*draw(seed + 50), {"other": "new"}]
    mine, theirs = DictVectorizer(sort=sort), TheirVectorizer(sort=sort)
    assert abs(mine.fit_transform(samples) - theirs.fit_transform(samples)).max() == 0
    assert mine.vocabulary_ == theirs.vocabulary_
    assert abs(mine.transform(new) - theirs.transform(new)).max() == 0
    assert DictVectorizer(sort=sort).fit(samples).vocabulary_ == theirs.vocabulary_
    assert abs(FeatureHasher(64).transform(samples) - TheirHasher(64).transform(samples)).max() == 0


def test_a_stream_of_samples_is_read_once_and_in_parts():
    """More samples than are read at a time, from a generator."""
    samples = draw(4) * 60
    assert abs(DictVectorizer().fit_transform(iter(samples)) - TheirVectorizer().fit_transform(samples)).max() == 0


def test_a_bag_gives_the_names_and_rows_of_a_list():
    bag = pytest.importorskip("dask.bag")
    samples = draw(5)
    parts = bag.from_sequence(samples, npartitions=3)
    here, there = DictVectorizer().fit(samples), DictVectorizer().fit(parts)
    assert there.vocabulary_ == here.vocabulary_
    for made in (there, FeatureHasher(32)):
        blocks = made.transform(parts).compute(scheduler="sync")
        assert abs(vstack(blocks) - made.transform(samples)).max() == 0


def test_nested_mappings_are_refused():
    with pytest.raises(TypeError, match="Values must be texts, numbers, or lists of texts"):
        DictVectorizer().fit([{"a": {"b": 1}}])


def test_a_saved_vectorizer_gives_the_same_rows(tmp_path):
    samples = draw(6)
    made = DictVectorizer().fit(samples)
    mercer.save(made, tmp_path / "made.mercer")
    assert abs(mercer.load(tmp_path / "made.mercer").transform(samples) - made.transform(samples)).max() == 0
