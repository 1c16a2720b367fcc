"""Early stopping: the step that is kept and the step that ends, for every course of the validation error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from mercer.ensemble import HistGradientBoostingClassifier
from mercer.linear_model import LogisticRegression, SGDClassifier
from mercer.optim import MaxIter, NoImprovement, minimize
from mercer.watch import EarlyStopping


def follow(errors, patience, min_delta):
    """Return the step that is kept and the number of steps, by the rule as it is written."""
    best, kept = errors[0], 0
    for step, error in enumerate(errors):
        if step and error < best - min_delta:
            best, kept = error, step
        if step - kept >= patience:
            return kept, step + 1
    return kept, len(errors)


@pytest.mark.catalogue("OP-19")
@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 8), min_size=12, max_size=12),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5, 1.0, 2.5]),
)
def test_the_kept_step_is_the_last_that_fell_by_enough(errors, patience, min_delta):
    """A descent whose twelfth part of the way is a step, and a validation error that is written beforehand."""
    course = iter(errors)
    watch = NoImprovement(lambda x: next(course), patience=patience, min_delta=min_delta)
    result = minimize(
        lambda x: 0.5 * float(x @ x),
        np.array([8.0, -3.0]),
        grad=lambda x: x,
        method="gradient_descent",
        learning_rate=0.1,
        stop=watch | MaxIter(12),
        keep_path=True,
    )
    kept, steps = follow(errors, patience, min_delta)
    assert watch.best_step_ == kept
    assert len(watch.errors_) == steps
    if steps - 1 - kept >= patience:
        np.testing.assert_array_equal(result.x, result.path[kept + 1])
        np.testing.assert_allclose(result.x, np.array([8.0, -3.0]) * 0.9 ** (kept + 1))
        # With full batches the training error at the kept step is no less than at the last.
        assert result.value >= result.history["objective"][-1]


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(240, 30, n_informative=4, flip_y=0.25, random_state=0)
    return X[:80], y[:80], X[80:], y[80:]


@pytest.mark.catalogue("OP-19")
@pytest.mark.parametrize("patience", [1, 3])
def test_a_model_is_left_as_it_was_at_its_best_step(rows, patience):
    """The parameters are those of a fit that was told to end there, not those of the last step."""
    X, y, X_val, y_val = rows
    stop = EarlyStopping(X_val, y_val, scoring="neg_log_loss", patience=patience)
    model = LogisticRegression(C=1e6, solver="lbfgs", max_iter=200).set_callbacks(stop).fit(X, y)
    kept, steps = follow([-score for score in stop.scores_], patience, 0.0)
    assert (stop.best_step_, len(stop.scores_)) == (kept, steps)
    assert steps - 1 - kept == patience
    assert -log_loss(y_val, model.predict_proba(X_val)) == max(stop.scores_)
    with pytest.warns(UserWarning, match="not converged"):
        ended = LogisticRegression(C=1e6, solver="lbfgs", max_iter=kept + 1).fit(X, y)
    np.testing.assert_allclose(model.coef_, ended.coef_, rtol=1e-9)
    longer = LogisticRegression(C=1e6, solver="lbfgs", max_iter=5000).fit(X, y)
    assert log_loss(y, longer.predict_proba(X)) <= log_loss(y, model.predict_proba(X))
    assert log_loss(y_val, longer.predict_proba(X_val)) > log_loss(y_val, model.predict_proba(X_val))


@pytest.mark.catalogue("OP-19")
def test_boosting_is_cut_to_its_best_round(rows):
    X, y, X_val, y_val = rows
    stop = EarlyStopping(X_val, y_val, scoring="neg_log_loss", patience=5)
    options = {"learning_rate": 0.5, "max_leaf_nodes": 4, "min_samples_leaf": 5, "early_stopping": False}
    model = HistGradientBoostingClassifier(max_iter=60, **options).set_callbacks(stop).fit(X, y)
    assert -log_loss(y_val, model.predict_proba(X_val)) == pytest.approx(max(stop.scores_))
    ended = HistGradientBoostingClassifier(max_iter=stop.best_step_ + 1, **options).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X_val), ended.predict_proba(X_val), rtol=1e-9)


@pytest.mark.catalogue("OP-19")
@pytest.mark.parametrize(("patience", "tol"), [(2, 1e-3), (4, 0.02)])
def test_epochs_end_when_the_score_of_held_out_rows_has_not_risen(rows, patience, tol):
    X, y, _, _ = rows
    model = SGDClassifier(early_stopping=True, n_iter_no_change=patience, tol=tol, random_state=0).fit(X, y)
    best, stale, ended = -np.inf, 0, None
    for epoch, score in enumerate(model.history_["validation_score"]):
        stale = stale + 1 if score < best + tol else 0
        best = max(best, score)
        if stale >= patience:
            ended = epoch + 1
            break
    assert model.n_iter_ == ended == len(model.history_["validation_score"])
