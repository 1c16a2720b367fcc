"""Watches on a small estimator of the test's own, so that every rule is seen alone."""

import itertools
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.model_selection import GridSearchCV

import mercer
from mercer._base import Estimator, check_rows, fitting
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._solver import Certificate, Solution, Step
from mercer._statistic import Moments
from mercer.errors import CheckpointError
from mercer.linear_model import SGDClassifier
from mercer.watch import Checkpoint, EarlyStopping, TimeLimit

X = np.random.default_rng(0).normal(size=(200, 3))


class Walk(Estimator):
    """Walks towards the mean, half the way at each step; scores best at step `peak`."""

    max_iter: int = parameter(Integer(1), default=10)
    peak: int = parameter(Integer(0), default=99)
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    @fitting
    def fit(self, X, y=None):
        source = self._open(check_rows(self, X))
        outcome = self._drive(self._walk, source, max_steps=self.max_iter)
        self._conclude(outcome)
        return self

    def _walk(self, start):
        number, place = (0, np.zeros(3)) if start is None else start
        while number < self.max_iter:
            moments = yield Moments()
            place = (place + moments.mean) / 2
            number += 1
            yield Step(float(((place - moments.mean) ** 2).sum()), (number, place))
        return Solution((number, place), converged=True, certificate=Certificate.none("A walk."))

    def _fitted(self, state):
        return {"number_": state[0], "place_": state[1]}

    def score(self, X, y=None):
        return -abs(self.number_ - self.peak)


def test_all_watches_follow_scikit_learns_protocol():
    for watch in (TimeLimit(1), EarlyStopping(X), Checkpoint("nowhere")):
        assert isinstance(watch, FitCallback)
        Walk().set_callbacks(watch)


def test_a_fit_without_watches_takes_all_its_steps():
    model = Walk().fit(X)
    assert (model.number_, model.n_iter_, model.converged_) == (10, 10, True)
    assert np.all(np.diff(model.history_["objective"]) < 0)


def test_a_time_limit_counts_from_the_start_of_the_fit(monkeypatch):
    readings = itertools.count()
    # A clock that advances by a second whenever it is read: ten steps take less than a hundred, and this delay more.
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(readings)))
    limit = TimeLimit(100)
    for _ in range(150):
        next(readings)
    assert Walk().set_callbacks(limit).fit(X).n_iter_ == 10
    assert Walk().set_callbacks(TimeLimit(0)).fit(X).n_iter_ == 1


def test_early_stopping_waits_for_its_patience_and_keeps_the_best():
    judge = EarlyStopping(X, patience=3)
    model = Walk(peak=4).set_callbacks(judge).fit(X)
    assert judge.scores_ == [-3, -2, -1, 0, -1, -2, -3]
    assert (judge.best_step_, model.number_, model.n_iter_) == (3, 4, 7)


def test_early_stopping_ignores_rises_below_min_delta():
    judge = EarlyStopping(X, patience=1, min_delta=1.5)
    assert Walk(peak=9).set_callbacks(judge).fit(X).number_ == 1
    assert judge.scores_ == [-8, -7]


def test_early_stopping_uses_the_scorer_it_is_given():
    judge = EarlyStopping(X, scoring=lambda model, X, y: float(model.number_ == 2), patience=1)
    assert Walk().set_callbacks(judge).fit(X).number_ == 2


def test_a_checkpoint_is_written_when_due_and_removed_at_the_end(tmp_path):
    path = tmp_path / "walk"
    seen = []

    class Look(TimeLimit):
        def on_fit_task_end(self, estimator, context):
            seen.append(path.exists())

    Walk().set_callbacks(Checkpoint(path, every=0), Look(0)).fit(X)
    assert seen[0] is False
    assert all(seen[1:])
    assert not path.exists()
    Walk().set_callbacks(Checkpoint(path, every=60)).fit(X)
    assert not path.exists()


def test_a_damaged_checkpoint_is_refused_with_the_cure(tmp_path):
    path = tmp_path / "walk"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(CheckpointError, match=r"cannot be read .* delete it to start afresh"):
        Walk().set_callbacks(Checkpoint(path)).fit(X)


def test_a_failing_fit_leaves_no_attribute_behind():
    class Stumble(Walk):
        def _walk(self, start):
            yield Step(1.0, (0, np.zeros(3)))
            raise RuntimeError("stumbled")

    model = Stumble()
    with pytest.raises(RuntimeError, match="stumbled"):
        model.fit(X)
    assert sorted(vars(model)) == ["max_iter", "max_time", "peak"]


def test_settings_are_per_context():
    with mercer.config_context(on_interrupt="keep"):
        assert mercer.get_config()["on_interrupt"] == "keep"
    assert mercer.get_config()["on_interrupt"] == "raise"


def test_a_search_without_callbacks_does_not_watch_its_fits(monkeypatch):
    seen = []
    ask = Estimator._is_watched
    monkeypatch.setattr(Estimator, "_is_watched", lambda self: seen.append(ask(self)) or seen[-1])
    labels = (X[:, 0] > 0).astype(int)
    for model in (SGDClassifier(), SGDClassifier().set_callbacks(TimeLimit(600))):
        GridSearchCV(model, {"alpha": [0.01]}, cv=2).fit(X, labels)
    # Two folds and the fit to all rows, for each of the searches.
    assert seen == [False] * 3 + [True] * 3


def test_a_clone_keeps_callbacks_and_parameters():
    limit, peak = TimeLimit(600), 7
    assert clone(Walk(peak=peak)).get_params() == Walk(peak=peak).get_params()
    assert clone(Walk().set_callbacks(limit))._skl_callbacks == [limit]
    with pytest.raises(RuntimeError, match="does not set or modifies parameter"):
        clone(Changed())


class Changed(Walk):
    """Breaks the rule that a constructor only assigns."""

    def __init__(self, max_iter=10, peak=99, max_time=None):
        super().__init__(max_iter=max_iter + 1, peak=peak, max_time=max_time)
