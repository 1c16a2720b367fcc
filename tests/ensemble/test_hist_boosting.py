"""Histogram boosting: exact gains, falling loss, the same trees everywhere, constraints, missing values, categories."""

import threading
import warnings
from itertools import pairwise

import numpy as np
import pandas
import pytest
from sklearn.datasets import make_classification, make_friedman1

from mercer._source.threads import run_numbered
from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mercer.ensemble._histogram import tree_builder
from mercer.ensemble._histogram.solver import Gradients
from mercer.errors import DataError, InterruptWarning, ParameterError


def friedman(n=400, seed=0):
    return make_friedman1(n, noise=0.5, random_state=seed)


def best_split(X, residual, min_rows, l2):
    """Return column, threshold and gain of the best split by trying all: the definition."""
    best = (-1, 0.0, 0.0)
    parent = residual.sum() ** 2 / (len(residual) + l2)
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for low, high in pairwise(values):
            left = X[:, j] <= (low + high) / 2
            if min(left.sum(), (~left).sum()) < min_rows:
                continue
            gain = sum(residual[side].sum() ** 2 / (side.sum() + l2) for side in (left, ~left)) - parent
            if gain > best[2] * (1 + 1e-12):
                best = (j, (low + high) / 2, gain)
    return best


# Truth.


@pytest.mark.catalogue("TE-22")
def test_the_first_split_is_the_best_of_all_splits():
    X, y = friedman(120)
    model = HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=2, l2_regularization=0.5).fit(X, y)
    tree = model._state.trees[0]
    column, threshold, gain = best_split(X, y - y.mean(), 20, 0.5)
    assert tree.feature[0] == column
    assert tree.threshold[0] == pytest.approx(threshold, rel=1e-12)
    assert tree.gain[0] == pytest.approx(gain, rel=1e-9)


@pytest.mark.catalogue("TE-22")
def test_one_full_tree_without_shrinkage_gives_every_row_the_mean_of_its_equals():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, size=(200, 2)).astype(float), rng.normal(size=200)
    full = {"max_iter": 1, "learning_rate": 1.0, "max_leaf_nodes": None, "min_samples_leaf": 1}
    found = HistGradientBoostingRegressor(**full).fit(X, y).predict(X)
    means = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).groupby(["a", "b"])["y"].transform("mean")
    np.testing.assert_allclose(found, means, atol=1e-10)


def test_a_leaf_of_the_log_loss_is_a_newton_step():
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    y = np.r_[np.ones(30), np.zeros(10), np.ones(5), np.zeros(35)]
    model = HistGradientBoostingClassifier(max_iter=1, learning_rate=1.0).fit(X, y)
    p = 35 / 80
    steps = [np.log(p / (1 - p)) + (share - p) / (p * (1 - p)) for share in (30 / 40, 5 / 40)]
    np.testing.assert_allclose(model.decision_function([[0.0], [1.0]]), steps, rtol=1e-7)


def test_leaves_of_the_absolute_loss_are_medians():
    X = np.repeat([[0.0], [1.0]], 25, axis=0)
    y = np.random.default_rng(0).standard_t(2, size=50)
    model = HistGradientBoostingRegressor("absolute_error", max_iter=1, learning_rate=1.0).fit(X, y + 5 * X[:, 0])
    medians = [np.median(y[:25]), np.median(y[25:]) + 5]
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), medians, rtol=1e-12)


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_the_quantile_loss_leaves_its_share_of_rows_below(quantile):
    X, y = friedman(1000)
    model = HistGradientBoostingRegressor("quantile", quantile=quantile, max_iter=1, learning_rate=1.0).fit(X, y)
    # Each leaf has at least twenty rows, and one of them is at the quantile.
    assert np.mean(y <= model.predict(X)) == pytest.approx(quantile, abs=1 / 20)


# Optimality.


@pytest.mark.catalogue("TE-22")
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
def test_the_training_loss_falls_in_every_round(loss):
    X, y = friedman()
    model = HistGradientBoostingRegressor(loss, max_iter=30).fit(X, np.maximum(y, 0.1))
    assert np.all(np.diff(model.history_["objective"]) < 0)


# Invariance.


def test_monotone_transforms_of_columns_change_nothing():
    X, y = friedman()
    plain = HistGradientBoostingRegressor(max_iter=10).fit(X, y)
    bent = HistGradientBoostingRegressor(max_iter=10).fit(np.exp(3 * X), y)
    np.testing.assert_allclose(bent.predict(np.exp(3 * X)), plain.predict(X), rtol=1e-12)


def test_whole_weights_are_repetitions_and_others_scale():
    X, y = friedman(200)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    weighted = HistGradientBoostingRegressor(max_iter=20).fit(X, y, sample_weight=weight.astype(float))
    repeated = HistGradientBoostingRegressor(max_iter=20).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_threads_leave_no_trace_on_rows_of_many_blocks():
    X, y = make_classification(40_000, 40, n_informative=10, random_state=0)
    models = [HistGradientBoostingClassifier(max_iter=3, n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 2, 5)]
    scores = [model.decision_function(X[:2000]) for model in models]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


def test_fits_at_the_same_time_share_the_crew_and_agree():
    X, y = make_classification(20_000, 40, n_informative=10, random_state=0)
    options = {"max_iter": 3, "random_state": 0, "early_stopping": False}
    alone = HistGradientBoostingClassifier(n_jobs=1, **options).fit(X, y)
    models = [HistGradientBoostingClassifier(n_jobs=4, **options) for _ in range(3)]
    fits = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    for model in models:
        assert np.array_equal(model.decision_function(X[:500]), alone.decision_function(X[:500]))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_an_interrupted_fit_leaves_no_thread_at_work(monkeypatch, early_stopping):
    X, y = make_classification(20_000, 40, n_informative=10, random_state=0)
    update, calls = Gradients.update, []

    def update_thrice(self):
        calls.append(update(self))
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Gradients, "update", update_thrice)
    model = HistGradientBoostingClassifier(n_jobs=3, early_stopping=early_stopping)
    with pytest.warns(InterruptWarning), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 1
    # All items wait for one another: each needs a thread.
    meeting = threading.Barrier(3)
    run_numbered(lambda _: meeting.wait(10), 3, 3)


# Places.


def test_files_and_streams_give_the_trees_of_memory(tmp_path):
    X, y = friedman(3000)
    np.save(tmp_path / "X.npy", X)
    memory = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(X, y)
    file = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(tmp_path / "X.npy", y)
    blocks = [(X[:1000], y[:1000]), (X[1000:], y[1000:])]
    stream = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(lambda: iter(blocks))
    assert np.array_equal(memory.predict(X), file.predict(X))
    assert np.array_equal(memory.predict(X), stream.predict(X))


# Constraints.


def test_monotone_columns_move_the_prediction_one_way():
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    y = 2 * X[:, 0] + np.sin(9 * X[:, 0]) - X[:, 1] + 0.3 * rng.normal(size=600)
    model = HistGradientBoostingRegressor(monotonic_cst=[1, -1]).fit(X, y)
    line = np.linspace(0, 1, 200)
    for other in (0.2, 0.7):
        assert np.all(np.diff(model.predict(np.column_stack([line, np.full(200, other)]))) >= 0)
        assert np.all(np.diff(model.predict(np.column_stack([np.full(200, other), line]))) <= 0)


def test_no_interactions_make_the_model_a_sum_of_functions_of_one_column():
    X, y = friedman()
    model = HistGradientBoostingRegressor(interaction_cst="no_interactions").fit(X, y)
    a, b = X[:50], X[50:100]
    mixed, other = a.copy(), b.copy()
    mixed[:, 0], other[:, 0] = b[:, 0], a[:, 0]
    swapped = model.predict(mixed) + model.predict(other)
    np.testing.assert_allclose(model.predict(a) + model.predict(b), swapped, rtol=1e-10)


# Edges.


def test_missing_values_go_where_they_gain():
    X = np.random.default_rng(0).normal(size=(300, 1))
    X[::3] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    assert HistGradientBoostingClassifier(max_iter=10).fit(X, y).score(X, y) == 1.0


def test_a_column_of_missing_values_and_infinities_do_no_harm():
    X, y = friedman(200)
    X[:, 3] = np.nan
    X[0, 0], X[1, 0] = np.inf, -np.inf
    assert HistGradientBoostingRegressor(max_iter=20).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("n_categories", [6, 600])
def test_one_split_by_categories_separates_odd_from_even(n_categories):
    rng = np.random.default_rng(0)
    number = np.minimum(rng.geometric(10 / n_categories, 9000), n_categories) if n_categories > 255 else None
    number = rng.integers(0, n_categories, 6000) if number is None else number
    frame = pandas.DataFrame({"kind": pandas.Categorical([f"k{one}" for one in number])})
    model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, early_stopping=False).fit(frame, number % 2)
    assert model.score(frame, number % 2) > 0.95
    assert model.is_categorical_.tolist() == [True]
    unknown = pandas.DataFrame({"kind": pandas.Categorical(["never seen", None])})
    assert len(set(model.predict_proba(unknown)[:, 0])) == 1


def test_early_stopping_on_the_users_rows_keeps_what_was_scored():
    X, y = friedman(600)
    model = HistGradientBoostingRegressor(max_iter=500, learning_rate=0.3)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert model.do_early_stopping_
    assert model.converged_
    assert model.n_iter_ < 500
    expected = -0.5 * np.mean((model.predict(X[300:]) - y[300:]) ** 2)
    assert model.validation_score_[-1] == pytest.approx(expected, rel=1e-9)


def test_a_warm_start_goes_on_with_the_same_trees():
    X, y = friedman()
    whole = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y)
    parts = HistGradientBoostingRegressor(max_iter=8, random_state=0, warm_start=True).fit(X, y)
    parts.set_params(max_iter=20).fit(X, y)
    assert parts.n_iter_ == 20
    assert np.array_equal(whole.predict(X), parts.predict(X))


# Errors.


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (HistGradientBoostingClassifier(), np.zeros(50), "only one class: 0.0. Add rows of another."),
        (HistGradientBoostingRegressor("poisson"), -np.ones(50), "requires non-negative y and sum(y) > 0. Got the"),
        (HistGradientBoostingRegressor("gamma"), np.zeros(50), "requires strictly positive y. Got 0; shift y."),
    ],
)
def test_targets_that_make_no_sense_are_refused(model, y, words):
    with pytest.raises(DataError) as error:
        model.fit(np.zeros((50, 2)), y)
    assert words in str(error.value)


def test_a_quantile_loss_without_a_quantile_is_refused():
    with pytest.raises(ParameterError, match=r"quantile must be a number in \[0, 1\] with loss='quantile'; got None."):
        HistGradientBoostingRegressor("quantile").fit(*friedman(50))


def test_validation_labels_that_were_not_seen_are_refused():
    X, y = make_classification(100, random_state=0)
    with pytest.raises(DataError, match=r"must have labels of the training rows; got \[2\], known are \[0, 1\]"):
        HistGradientBoostingClassifier().fit(X, y, X_val=X[:3], y_val=[0, 1, 2])


@pytest.mark.parametrize("total", [np.inf, np.nan])
def test_sums_of_gradients_that_overflow_leave_words_that_fit_into_64_bits(total):
    scale = tree_builder._find_scale(52, total)
    # 2^40 rows of the largest gradient; the unit, its inverse, is finite.
    assert np.finfo(np.float64).max * scale * 2.0**40 < 2.0**63
    assert np.isfinite(1.0 / scale)


def test_gradients_that_overflow_become_numbers_before_they_are_rounded_to_words():
    y = np.array([1e308, -1e308, 1.0, 2.0] * 10)
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2, early_stopping=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = model.fit(np.arange(40.0)[:, None], y).predict([[0.0]])
        except DataError:
            return
    assert np.isfinite(answer).all()
