"""Comparison of two models: closed forms, what the probabilities promise in simulations, and the sentences."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, ttest_1samp
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.model_selection import RepeatedKFold

from mercer.dummy import DummyClassifier
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge
from mercer.model_selection import compare_estimators, compare_scores, mcnemar_test


def test_without_shared_rows_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.05, 0.1, size=12), rng.normal(0, 0.1, size=12)
    found = compare_scores(first, second, test_share=0.0)
    peer = ttest_1samp(first - second, 0)
    assert np.isclose(found.p_value, peer.pvalue)
    low, high = peer.confidence_interval(0.95)
    assert np.allclose([found.interval.low, found.interval.high], [low, high])


def test_the_probabilities_are_those_of_the_interval():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=8), rng.normal(size=8)
    first -= (first - second).mean()
    free = compare_scores(first, second, test_share=0.25)
    # Without a lead, 2.5 % lie beyond each end of the interval.
    found = compare_scores(first, second, test_share=0.25, rope=free.interval.high)
    assert np.allclose(found.probabilities, (0.025, 0.95, 0.025))
    swapped = compare_scores(second + 0.3, first, test_share=0.25)
    assert np.allclose(swapped.probabilities, compare_scores(first, second + 0.3, test_share=0.25).probabilities[::-1])


def test_splits_that_agree_leave_no_doubt():
    same = [0.5, 0.75, 0.625]
    assert compare_scores(same, same, test_share=0.5, rope=0.0).probabilities == (0.0, 1.0, 0.0)
    ahead = compare_scores([one + 0.25 for one in same], same, test_share=0.5)
    assert ahead.probabilities == (1.0, 0.0, 0.0)
    assert ahead.p_value == 0.0


def test_mcnemar_is_the_exact_binomial_test():
    rng = np.random.default_rng(0)
    y, first, second = (rng.integers(0, 2, size=60) for _ in range(3))
    found = mcnemar_test(y, first, second)
    count = found.only_first + found.only_second
    assert count == np.sum((first == y) != (second == y))
    assert np.isclose(found.p_value, binomtest(found.only_first, count).pvalue)
    assert mcnemar_test(y, first, first).p_value == 1.0


def test_equal_learners_are_rarely_called_different():
    rng = np.random.default_rng(0)
    decided, repeats = 0, 40
    for _ in range(repeats):
        X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
        # Both see one useless column: neither is better.
        found = compare_estimators(_Column(0), _Column(1), X, y, cv=5)
        decided += found.p_value < 0.05
    assert decided <= binom.isf(1e-6, repeats, 0.05)


class _Column(LinearRegression):
    """Least squares on one column."""

    def __init__(self, column=0):
        super().__init__()
        self.column = column

    def fit(self, X, y):
        return super().fit(X[:, [self.column]], y)

    def predict(self, X):
        return super().predict(X[:, [self.column]])


@pytest.mark.parametrize("model", [LogisticRegression(), Peer()])
def test_a_model_beats_a_guess_and_equals_itself(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    found = compare_estimators(model, DummyClassifier(), X, y, cv=5)
    assert "is better than DummyClassifier" in found.sentence
    assert found.mcnemar.p_value < 1e-6
    assert found.mcnemar.only_second <= found.mcnemar.only_first
    same = compare_estimators(model, model, X, y, cv=5)
    assert same.probabilities == (0.0, 1.0, 0.0)
    assert same.p_value == 1.0
    assert "differ by at most 0.01" in same.sentence
    assert "McNemar" in str(same)
    assert "McNemar" in same._repr_html_()


def test_repeated_folds_count_each_row_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] + rng.normal(size=50) > 0).astype(int)
    folds = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
    found = compare_estimators(LogisticRegression(), DummyClassifier(), X, y, cv=folds)
    assert found.scores.shape == (2, 15)
    assert found.mcnemar.only_first + found.mcnemar.only_second <= 50


def test_rows_that_do_not_decide_are_called_so():
    found = compare_scores([0.5, 0.75, 0.625], [0.625, 0.625, 0.625], test_share=0.5, names=("one", "two"))
    assert found.sentence.startswith("These rows do not decide between one and two: the lead of one is 0,")
    assert found.mcnemar is None


def test_the_same_class_twice_is_numbered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    found = compare_estimators(Ridge(1.0), Ridge(3.0), X, X[:, 0] + rng.normal(size=30), cv=5)
    assert found.names == ("Ridge (first)", "Ridge (second)")
    assert found.mcnemar is None


def test_bad_input_is_named():
    with pytest.raises(DataError, match="at least 2 scores"):
        compare_scores([0.5], [0.4], test_share=0.1)
    with pytest.raises(ParameterError, match=r"rope must be a number in \[0, inf\); got -1"):
        compare_scores([0.5, 0.6], [0.4, 0.5], test_share=0.1, rope=-1)
