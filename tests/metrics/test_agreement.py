"""Agreement of clusters with classes: counted pairs, chance, information, and scikit-learn's values."""

import itertools

import numpy as np
import pytest
import sklearn.metrics
from scipy.sparse import csr_array

from mercer import metrics
from mercer.errors import DataError, ParameterError

EXTERNAL = ["rand_score", "adjusted_rand_score", "mutual_info_score", "normalized_mutual_info_score"]


@pytest.mark.catalogue("CL-21")
@pytest.mark.parametrize("name", EXTERNAL)
@pytest.mark.parametrize(("k", "c"), [(2, 2), (3, 7), (1, 4), (30, 1), (30, 30)])
def test_external_measures_are_those_of_scikit_learn_and_know_no_names_of_labels(name, k, c):
    random = np.random.default_rng(k * c)
    true, pred = random.integers(k, size=30), random.integers(c, size=30)
    if (k, c) == (30, 30):
        true, pred = np.arange(30), np.arange(30)
    expected = getattr(sklearn.metrics, name)(true, pred)
    measure = getattr(metrics, name)
    assert measure(true, pred) == pytest.approx(expected, abs=1e-12)
    names = np.array([f"cluster {number}" for number in random.permutation(30)])
    assert measure(names[true], -pred) == pytest.approx(measure(true, pred), abs=1e-12)
    assert measure(pred, true) == pytest.approx(measure(true, pred), abs=1e-12)


@pytest.mark.catalogue("CL-21")
def test_rand_indices_count_the_pairs():
    true, pred = ["a", "a", "a", "b", "b", "c"], [0, 0, 1, 1, 1, 1]
    alike = [(true[i] == true[j]) == (pred[i] == pred[j]) for i, j in itertools.combinations(range(6), 2)]
    assert metrics.rand_score(true, pred) == pytest.approx(np.mean(alike))
    # Pairs together: 2 in both, 4 in classes, 7 in clusters, of 15; chance expects 28 / 15.
    assert metrics.adjusted_rand_score(true, pred) == pytest.approx((2 - 28 / 15) / (5.5 - 28 / 15))


@pytest.mark.catalogue("CL-21")
def test_the_adjusted_index_is_zero_on_average_over_all_labellings_with_the_same_sizes():
    true = [0, 0, 0, 1, 1, 2]
    orders = list(itertools.permutations([0, 0, 1, 1, 1, 2]))
    assert np.mean([metrics.adjusted_rand_score(true, order) for order in orders]) == pytest.approx(0.0, abs=1e-12)
    assert np.mean([metrics.rand_score(true, order) for order in orders]) > 0.5
    assert max(metrics.adjusted_rand_score(true, order) for order in orders) == 1.0


@pytest.mark.catalogue("CL-21")
@pytest.mark.parametrize("name", EXTERNAL)
def test_equal_partitions_have_the_highest_external_measures(name):
    true, pred = [0, 0, 1, 2, 2], ["x", "x", "z", "y", "y"]
    best = -(0.4 * np.log(0.4) * 2 + 0.2 * np.log(0.2)) if name == "mutual_info_score" else 1.0
    assert getattr(metrics, name)(true, pred) == pytest.approx(best)


@pytest.mark.catalogue("CL-21")
def test_mutual_information_is_what_conditional_entropy_leaves_and_nothing_if_independent():
    random = np.random.default_rng(1)
    true, pred = random.integers(4, size=200), random.integers(3, size=200)
    counts = np.bincount(true) / 200
    entropy = -(counts * np.log(counts)).sum()
    assert metrics.mutual_info_score(true, pred) == pytest.approx(entropy - metrics.conditional_entropy(true, pred))
    crossed = [*itertools.product("abc", range(2))] * 4
    true, pred = zip(*crossed, strict=True)
    for name in ("mutual_info_score", "normalized_mutual_info_score", "adjusted_rand_score"):
        assert getattr(metrics, name)(true, pred) == pytest.approx(0.0, abs=0.1)
    assert metrics.mutual_info_score(true, pred) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("average", ["min", "geometric", "arithmetic", "max"])
def test_every_mean_of_entropies_is_scikit_learns(average):
    random = np.random.default_rng(2)
    true, pred = random.integers(4, size=60), random.integers(3, size=60)
    expected = sklearn.metrics.normalized_mutual_info_score(true, pred, average_method=average)
    assert metrics.normalized_mutual_info_score(true, pred, average_method=average) == pytest.approx(expected)
    with pytest.raises(ParameterError, match=r"average_method must be one of 'min', .*; got 'mean'"):
        metrics.normalized_mutual_info_score(true, pred, average_method="mean")


def test_labels_that_all_differ_need_no_table_of_all_pairs():
    # A table of all pairs would have 10^10 cells.
    labels = np.arange(100_000)
    assert np.isclose(metrics.mutual_info_score(labels, labels[::-1]), np.log(100_000))
    assert metrics.adjusted_rand_score(labels, labels[::-1]) == 1.0
    assert metrics.purity_score(labels, labels) == 1.0


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_information_of_pairs_that_are_counted_already(kind):
    random = np.random.default_rng(0)
    classes, clusters = random.integers(0, 4, 300), random.integers(0, 6, 300)
    counts = sklearn.metrics.cluster.contingency_matrix(classes, clusters)
    found = metrics.mutual_info_score(None, None, contingency=kind(counts))
    assert np.isclose(found, metrics.mutual_info_score(classes, clusters))
    with pytest.raises(DataError, match="contingency must count at least one row"):
        metrics.mutual_info_score(None, None, contingency=kind(np.zeros((2, 2))))
