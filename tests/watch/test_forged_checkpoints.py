"""Forged checkpoints: a state that no fit wrote ends in CheckpointError, and errors of callbacks stay what they are."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from mercer._base.model_file import load_plain, save_plain
from mercer.cluster import KMeans
from mercer.errors import CheckpointError, MercerError
from mercer.linear_model import LogisticRegression
from mercer.mixture import GaussianMixture
from mercer.watch import Checkpoint

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] + np.random.default_rng(1).normal(size=60) > 0).astype(int)
MODELS = [
    KMeans(3, n_init=1, init="random", random_state=0),
    LogisticRegression(solver="lbfgs"),
    GaussianMixture(2, random_state=0),
]


class Crash:
    """A callback that raises after the step of a given number."""

    def __init__(self, at):
        self.at, self.seen = at, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        if self.seen == self.at:
            raise RuntimeError("killed")
        return False


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def stopped(request, tmp_path):
    """An estimator and the checkpoint of a fit of it that was killed after two steps."""
    path = tmp_path / "fit.checkpoint"
    model = request.param
    with pytest.raises(RuntimeError, match="killed"):
        model.set_callbacks(Checkpoint(path, every=0), Crash(3)).fit(X, Y)
    return model, path


def resume(model, path):
    return model.set_callbacks(Checkpoint(path, every=0)).fit(X, Y)


@pytest.mark.parametrize("state", [5, "text", [1, [2]], {"a": 1}, np.zeros((2, 2))], ids=lambda state: str(state)[:8])
def test_a_state_of_another_kind_is_a_sentence(stopped, state):
    model, path = stopped
    save_plain({**load_plain(path), "state": state}, path)
    with pytest.raises((CheckpointError, MercerError)) as caught:
        resume(model, path)
    assert "delete it to start afresh" in str(caught.value)


def cut_columns(value):
    """Return a state whose tables have lost their last column."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value[..., :-1]) if value.ndim > 1 else value
    if is_dataclass(value):
        return replace(value, **{item.name: cut_columns(getattr(value, item.name)) for item in fields(value)})
    return value


def test_a_state_of_fewer_columns_is_refused_before_native_code_reads_it(stopped):
    model, path = stopped
    record = load_plain(path)
    save_plain({**record, "state": cut_columns(record["state"])}, path)
    with pytest.raises(CheckpointError, match=r"does not fit these rows: .* Delete it to start afresh\."):
        resume(model, path)


def test_runs_of_different_shapes_are_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"
    model = KMeans(3, n_init=2, init="random", random_state=0)
    with pytest.raises(RuntimeError, match="killed"):
        model.set_callbacks(Checkpoint(path, every=0), Crash(3)).fit(X)
    record = load_plain(path)
    best = replace(record["state"].run, centres=np.zeros((3, 2)))
    save_plain({**record, "state": replace(record["state"], best=best, best_restart=0)}, path)
    with pytest.raises(CheckpointError):
        model.set_callbacks(Checkpoint(path, every=0)).fit(X)


@pytest.mark.parametrize("history", [5, {}, {"step": [], "objective": [], "seconds": []}, {"step": ["a"]}], ids=str)
def test_a_history_of_another_kind_is_a_sentence(stopped, history):
    model, path = stopped
    save_plain({**load_plain(path), "history": history}, path)
    with pytest.raises(CheckpointError, match="must hold columns of numbers, one for each step"):
        resume(model, path)


def test_an_error_of_a_callback_in_a_resumed_fit_stays_what_it_is(stopped):
    model, path = stopped
    with pytest.raises(RuntimeError, match="killed"):
        model.set_callbacks(Checkpoint(path, every=0), Crash(1)).fit(X, Y)
