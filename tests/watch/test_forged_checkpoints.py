"""Forged checkpoints: a state that no fit wrote ends in CheckpointError, and errors of callbacks stay what they are."""

import numpy as np
import pytest

from mercer._base.model_file import load_plain, save_plain
from mercer.cluster import KMeans
from mercer.errors import CheckpointError, MercerError
from mercer.linear_model import LogisticRegression
from mercer.mixture import GaussianMixture
from mercer.watch import Checkpoint

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
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
            message = "killed"
            raise RuntimeError(message)
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
