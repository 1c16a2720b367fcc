"""Naive Bayes against sums and products written out by hand: every branch by size, every form of input."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer._source.array import ArraySource
from mercer._source.block import DenseBlock, SparseBlock
from mercer.errors import DataError
from mercer.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from mercer.naive_bayes._class_totals import CategoryCounts, ClassTotals

COUNTS = np.random.default_rng(3).integers(0, 5, (90, 4))
LABELS = np.array(["b", "a", "c"])[np.random.default_rng(4).integers(0, 3, 90)]
WEIGHT = np.random.default_rng(5).uniform(0.2, 3.0, 90)


def score_by_hand(X, logarithms, prior):
    return np.array([[prior[k] + sum(row * logarithms[k]) for k in range(len(prior))] for row in X])


@pytest.mark.parametrize(
    "model", [BernoulliNB(binarize=1.0, alpha=0.3), MultinomialNB(alpha=0.3), CategoricalNB(alpha=0.3), GaussianNB()]
)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_objective_is_the_mean_log_probability_of_rows_with_their_labels(model, weight):
    model.fit(COUNTS, LABELS, sample_weight=weight)
    joint = model.predict_joint_log_proba(COUNTS)[np.arange(90), np.searchsorted(model.classes_, LABELS)]
    # The variances of GaussianNB are raised by var_smoothing, 1e-9 of the largest.
    np.testing.assert_allclose(model.history_["objective"][-1], np.average(joint, weights=weight), rtol=1e-7)


def test_an_impossible_count_leaves_the_objective_finite():
    X, y = np.array([[2, 0, 1], [0, 3, 1]]), [0, 1]
    model = MultinomialNB(alpha=0.0).fit(X, y)
    by_hand = (2 * np.log(2 / 3) + np.log(1 / 3) + 3 * np.log(3 / 4) + np.log(1 / 4)) / 2 + np.log(0.5)
    np.testing.assert_allclose(model.history_["objective"][-1], by_hand, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 7, 20_000])
def test_scores_of_few_rows_and_of_many_equal_the_formula(n):
    random = np.random.default_rng(6)
    means, variances = random.normal(size=(3, 5)), random.uniform(0.3, 2.0, (3, 5))
    X, priors = random.normal(size=(n, 5)), np.array([0.5, 0.2, 0.3])
    model = GaussianNB.from_parameters(means, variances, priors, ["x", "y", "z"])
    gaps = X[:, None, :] - means
    by_hand = np.log(priors) - 0.5 * (np.log(2 * np.pi * variances) + gaps**2 / variances).sum(axis=2)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), by_hand, rtol=1e-10)
    assert model.predict(X[:1])[0] == "xyz"[np.argmax(by_hand[0])]
    assert model.var_smoothing == 0.0
    tables = [random.dirichlet(np.ones(size), 3) for size in (2, 4, 3)]
    rows = np.column_stack([random.integers(0, size, n) for size in (2, 4, 3)])
    categories = CategoricalNB.from_parameters(tables, priors, ["x", "y", "z"])
    by_hand = np.log(priors) + sum(np.log(table[:, rows[:, j]]).T for j, table in enumerate(tables))
    np.testing.assert_allclose(categories.predict_joint_log_proba(rows), by_hand, rtol=1e-10)
    assert categories.predict(rows[:1])[0] == "xyz"[np.argmax(by_hand[0])]
    assert CategoricalNB.from_parameters(tables, priors).classes_.tolist() == [0, 1, 2]
    # Known parameters must add up to one; counts of a fit need not.
    for make in (CategoricalNB.from_parameters, BernoulliNB.from_parameters, MultinomialNB.from_parameters):
        table = tables if make.__self__ is CategoricalNB else [[0.5, 0.5]] * 3
        with pytest.raises(ValueError, match="sum"):
            make(table, [0.5, 0.2, 0.4])


@pytest.mark.parametrize("q", [[[0.5, 1.5]], [[-0.5, 0.5]]])
def test_probabilities_outside_zero_and_one_are_refused(q):
    with pytest.raises(DataError, match=r"BernoulliNB: every probability must be a number in \[0, 1\]; got"):
        BernoulliNB.from_parameters(q, [1.0])
    with pytest.raises(DataError, match="the probabilities of every class must sum to 1"):
        MultinomialNB.from_parameters([[-0.5, 1.5]], [1.0])


def test_a_table_with_certain_columns_scores_all_other_rows_as_the_product_does():
    q = np.array([[0.0, 0.5, 0.3], [0.4, 1.0, 0.6]])
    model = BernoulliNB.from_parameters(q, [0.5, 0.5])
    rows = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=float)
    product = 0.5 * np.prod(np.where(rows[:, None, :] == 1, q, 1 - q), axis=2)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(rows)), product, atol=1e-15)
    # One impossible value only: the other class must be untouched.
    one = BernoulliNB.from_parameters([[0.2, 1.0], [0.3, 0.4]], [0.5, 0.5])
    np.testing.assert_allclose(np.exp(one.predict_joint_log_proba([[1.0, 0.0]])), [[0.0, 0.5 * 0.3 * 0.6]], atol=1e-15)


@pytest.mark.parametrize("norm", [False, True])
def test_complement_weights_are_those_of_all_other_classes(norm):
    model = ComplementNB(alpha=0.5, norm=norm).fit(COUNTS, LABELS)
    for k, label in enumerate(model.classes_):
        rest = COUNTS[label != LABELS].sum(axis=0) + 0.5
        logs = np.log(rest / rest.sum())
        np.testing.assert_allclose(model.feature_log_prob_[k], logs / logs.sum() if norm else -logs, rtol=1e-12)
    assert model.feature_all_.tolist() == COUNTS.sum(axis=0).tolist()
    np.testing.assert_allclose(model.predict_joint_log_proba(COUNTS), COUNTS @ model.feature_log_prob_.T, rtol=1e-12)


def test_batches_with_more_categories_than_the_first_count_as_one_fit():
    small, large = COUNTS[COUNTS.max(axis=1) < 3], COUNTS[COUNTS.max(axis=1) >= 3]
    y = LABELS[: len(small)], LABELS[len(small) :]
    for first, second in [(0, 1), (1, 0)]:
        model, X = CategoricalNB(), (small, large)
        model.partial_fit(X[first], y[first], classes=["a", "b", "c"]).partial_fit(X[second], y[second])
        whole = CategoricalNB().fit(np.vstack(X), np.concatenate(y))
        for ours, theirs in zip(model.category_count_, whole.category_count_, strict=True):
            assert ours.tolist() == theirs.tolist()


def test_categories_beyond_those_met_count_zero():
    model = CategoricalNB(min_categories=[2, 9, 2, 2]).fit(COUNTS, LABELS)
    for j, size in enumerate([5, 9, 5, 5]):
        counts = [np.bincount(COUNTS[label == LABELS, j], minlength=size).tolist() for label in model.classes_]
        assert model.category_count_[j].tolist() == counts


def sums_by_hand(values, numbers, weight):
    return np.array([(weight[:, None] * values)[numbers == k].sum(axis=0) for k in range(numbers.max() + 1)])


@pytest.mark.parametrize("threshold", [None, 2.0])
@pytest.mark.parametrize("n", [5, 3000])
@pytest.mark.parametrize("weighted", [False, True])
def test_totals_equal_the_definition_in_every_form(threshold, n, weighted):
    random = np.random.default_rng(6)
    X = random.integers(0, 6, (n, 3)).astype(float) + 0.5
    numbers = np.arange(n) % 5
    weight = random.uniform(0.5, 2.0, n) if weighted else None
    heavy = np.ones(n) if weight is None else weight
    values = X if threshold is None else (threshold < X).astype(float)
    statistic, block = ClassTotals(threshold), DenseBlock(X, 0, numbers, weight)
    tree = ArraySource(X, numbers, weight, threads=2).reduce(statistic)
    sparse = statistic.of(SparseBlock(csr_array(X), 0, numbers, weight))
    for sums in (statistic.of(block), tree, sparse, statistic.native_run(block, 64)):
        np.testing.assert_allclose(sums.totals, sums_by_hand(values, numbers, heavy), rtol=1e-12)
        np.testing.assert_allclose(sums.weights, np.bincount(numbers, heavy), rtol=1e-12)
        assert sums.least == (0.0 if threshold is not None or sums is sparse else X.min())


def test_counts_by_category_equal_loops_and_say_what_is_wrong():
    numbers, weight = np.arange(90) % 3, WEIGHT
    sums = CategoryCounts(8).of(DenseBlock(COUNTS, 0, numbers, weight))
    for k in range(3):
        for j in range(4):
            by_hand = np.bincount(COUNTS[numbers == k, j], weight[numbers == k], 5)
            np.testing.assert_allclose(sums.totals[k, j], by_hand, rtol=1e-12)
    for X, code in [(COUNTS - 1, -1.0), (COUNTS + 4, -np.inf), (COUNTS + 0.5, -0.5), (COUNTS + 3, 0.0)]:
        assert CategoryCounts(8).of(DenseBlock(X, 0, numbers, None)).least == code


def test_sums_add_over_classes_that_only_one_side_has():
    one = ClassTotals().of(DenseBlock(COUNTS[:30].astype(float), 0, np.arange(30) % 2, None))
    two = ClassTotals().of(DenseBlock(COUNTS[30:].astype(float) + 1, 0, np.arange(60) % 2 + 1, None))
    both = one + two
    labels = np.concatenate([np.arange(30) % 2, np.arange(60) % 2 + 1])
    rows = np.vstack([COUNTS[:30], COUNTS[30:] + 1])
    np.testing.assert_allclose(both.totals, sums_by_hand(rows, labels, np.ones(90)))
    assert both.least == min(one.least, two.least) == 0.0
    other = ClassTotals().of(DenseBlock(COUNTS[:30].astype(float), 0, np.arange(30) % 2 + 5, None))
    # The same shape with other labels must not be added in place.
    joined = one.absorb(other)
    assert joined.classes.tolist() == [0, 1, 5, 6]
    again = ClassTotals().of(DenseBlock(COUNTS[30:60].astype(float) + 2, 0, np.arange(30) % 2, None))
    least = min(one.least, again.least)
    assert one.absorb(again).least == least
