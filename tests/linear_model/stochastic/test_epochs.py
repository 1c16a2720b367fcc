"""Many epochs in one native call: the same answer as one epoch at a time, and the same account of it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from mercer.linear_model import Perceptron, SGDClassifier, SGDRegressor
from mercer.linear_model._solvers.stochastic.epochs import draw_cached


def make_rows(n_classes=2):
    draws = np.random.default_rng(3)
    X = draws.normal(size=(60, 4)) * (draws.uniform(size=(60, 4)) < 0.7)
    score = X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * draws.normal(size=60)
    return X, score, np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))


MODELS = [
    SGDRegressor(random_state=0),
    SGDRegressor(random_state=0, learning_rate="adaptive", penalty="l1", alpha=0.01),
    SGDClassifier(random_state=0, shuffle=False),
    SGDClassifier(random_state=0, loss="log_loss", penalty="elasticnet", batch_size=7),
    Perceptron(),
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_watched_fit_gives_the_same_bits_and_the_same_history(model, sparse):
    X, numbers, labels = make_rows(3)
    y = numbers if isinstance(model, SGDRegressor) else labels
    weight = np.where(np.arange(60) % 9 == 0, 0.0, 1.5)
    X = csr_array(X) if sparse else X
    # A time limit looks at the state after each epoch, so that native calls have one epoch each.
    alone, watched = (
        type(model)(**model.get_params() | {"max_time": limit}).fit(X, y, sample_weight=weight) for limit in (None, 1e6)
    )
    assert np.array_equal(alone.coef_, watched.coef_)
    assert np.array_equal(alone.intercept_, watched.intercept_)
    assert alone.n_iter_ == watched.n_iter_
    assert alone.t_ == watched.t_
    for name in ("step", "objective", "updates"):
        assert np.array_equal(alone.history_[name], watched.history_[name])
    assert (np.diff(alone.history_["seconds"]) >= 0).all()


def test_averages_follow_the_same_orders():
    X, numbers, _ = make_rows()
    plain = SGDRegressor(random_state=1, tol=None, max_iter=7).fit(X, numbers)
    # Averages that begin after the last step leave the epochs one by one, and the steps as they are.
    averaged = SGDRegressor(random_state=1, tol=None, max_iter=7, average=10**6).fit(X, numbers)
    assert averaged.coef_ == pytest.approx(plain.coef_, rel=1e-12)


def test_divergence_after_sound_epochs_is_still_reported():
    X, numbers, _ = make_rows()
    model = SGDRegressor(learning_rate="constant", eta0=5.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="without end"):
        model.fit(30.0 * X, numbers)


def test_orders_are_permutations_that_differ_from_epoch_to_epoch_and_favour_no_place():
    rows = np.arange(5, 25)
    orders = np.array([draw_cached(rows, (1, 2, 3, 4), epoch).visits for epoch in range(4000)])
    assert (np.sort(orders, axis=1) == rows).all()
    # The mean of each place is that of all rows, 14.5, up to five standard errors: 5.8 / sqrt(4000) each.
    assert np.abs(orders.mean(axis=0) - 14.5).max() < 5 * 5.8 / np.sqrt(4000)
    assert len(np.unique(orders, axis=0)) == 4000
