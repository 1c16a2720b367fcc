"""Intervals from pooled predictions: influence values against the jackknife, groups, weights, and coverage."""

import numpy as np
import pytest
from sklearn import metrics

from benchmarks.intervals import Table, measure_table
from mercer.errors import DataError, ParameterError
from mercer.model_selection import pool_interval
from mercer.model_selection._pooled import POOLED_SCORES

ROWS = 60
SHARES = ("neg_log_loss", "roc_auc_ovr", "neg_brier_score")
PEERS = {
    "accuracy": lambda y, p, a: metrics.accuracy_score(y, a),
    "balanced_accuracy": lambda y, p, a: metrics.balanced_accuracy_score(y, a),
    "f1_macro": lambda y, p, a: metrics.f1_score(y, a, average="macro"),
    "roc_auc_ovr": lambda y, p, a: metrics.roc_auc_score(y, p, multi_class="ovr"),
    "neg_log_loss": lambda y, p, a: -metrics.log_loss(y, p),
    "neg_brier_score": lambda y, p, a: -metrics.brier_score_loss(y, p),
    "r2": lambda y, p, a: metrics.r2_score(y, p),
    "neg_mean_absolute_error": lambda y, p, a: -metrics.mean_absolute_error(y, p),
    "neg_root_mean_squared_error": lambda y, p, a: -metrics.root_mean_squared_error(y, p),
}


def _make_predictions(name, seed=0):
    random = np.random.default_rng(seed)
    if name in ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"):
        y = random.normal(size=ROWS)
        return y, y + random.normal(size=ROWS) / 2
    y = np.arange(ROWS) % 3
    shares = random.dirichlet([1, 1, 1], ROWS) + np.eye(3)[y] / 2
    return y, shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.fixed_seed("with 60 rows the jackknife and its linear form may differ by more than 15 %")
@pytest.mark.parametrize("name", POOLED_SCORES)
def test_a_score_is_scikit_learns_and_its_variance_the_jackknifes(name):
    y, predictions = _make_predictions(name)
    answer = predictions.argmax(axis=1) if predictions.ndim == 2 else predictions
    mean, moved, _ = POOLED_SCORES[name](y, predictions, answer, np.ones(ROWS))
    assert mean == pytest.approx(PEERS[name](y, predictions, answer))
    kept = [np.delete(np.arange(ROWS), row) for row in range(ROWS)]
    without = np.array([PEERS[name](y[rows], predictions[rows], answer[rows]) for rows in kept])
    jackknife = (ROWS - 1) / ROWS * ((without - without.mean()) ** 2).sum()
    assert (moved**2).sum() / ROWS**2 == pytest.approx(jackknife, rel=0.15)
    assert abs(moved.sum()) < 1e-8 * ROWS


def test_copies_of_rows_in_one_group_do_not_narrow_the_interval():
    y, predictions = _make_predictions("neg_log_loss")
    once = pool_interval(y, predictions, scoring="neg_log_loss")
    twice = pool_interval(
        np.tile(y, 2), np.tile(predictions, (2, 1)), scoring="neg_log_loss", groups=np.tile(np.arange(ROWS), 2)
    )
    assert twice.high - twice.low == pytest.approx(once.high - once.low)
    naive = pool_interval(np.tile(y, 2), np.tile(predictions, (2, 1)), scoring="neg_log_loss")
    assert naive.high - naive.low < 0.75 * (once.high - once.low)


def test_a_weight_of_two_counts_in_the_score_as_two_rows():
    y, predictions = _make_predictions("r2")
    weight = 1.0 + (np.arange(ROWS) < 20)
    weighted = pool_interval(y, predictions, scoring="r2", sample_weight=weight)
    rows = np.repeat(np.arange(ROWS), weight.astype(int))
    assert weighted.mean == pytest.approx(metrics.r2_score(y[rows], predictions[rows]))


def test_no_error_among_few_rows_is_no_certainty():
    found = pool_interval([0, 1] * 20, [0, 1] * 20, scoring="accuracy")
    assert found.mean == 1.0
    assert 0.9 < found.low < 0.99


def test_wrong_arguments_are_named():
    with pytest.raises(ParameterError, match="scoring must be one of accuracy"):
        pool_interval([0, 1], [0, 1], scoring="speed")
    with pytest.raises(DataError, match="same number of rows, 2 or more; got 2 and 3"):
        pool_interval([0, 1], [0, 1, 1], scoring="accuracy")
    with pytest.raises(ParameterError, match="level"):
        pool_interval([0, 1], [0, 1], scoring="accuracy", level=95)


def test_intervals_of_splits_of_a_real_table_cover_and_are_narrow():
    found = measure_table(Table("breast_cancer", "target", "classes"), 100, 30, seed=1)
    row = next(row for row in found if row["score"] == "roc_auc_ovr" or row["score"] == "accuracy")
    assert row["pooled covers"] >= 0.85
    assert row["pooled width"] < 0.8 * row["folds width"]
