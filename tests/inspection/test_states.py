"""States over time and the graph of transitions."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.errors import DataError
from mercer.hmm import GaussianHMM
from mercer.inspection import StateSequenceDisplay, TransitionGraphDisplay


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_stripes_are_the_runs_of_states():
    X = np.repeat([0.0, 6.0, 0.0], 20)[:, None] + np.random.default_rng(0).normal(size=(60, 1))
    model = GaussianHMM(2, random_state=0).fit(X)
    display = StateSequenceDisplay.from_estimator(model, X)
    assert [(start, stop) for start, stop, _ in display.runs_] == [(0, 20), (20, 40), (40, 60)]
    assert len(display.axes_) == 2
    assert len(display.axes_[0].patches) == 3
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), X[:, 0])
    plain = StateSequenceDisplay(X, model.predict(X)).plot()
    assert len(plain.axes_) == 1


def test_states_must_match_the_steps():
    with pytest.raises(DataError, match="one state for each of the 3 steps"):
        StateSequenceDisplay([1.0, 2.0, 3.0], [0, 1])


def test_rare_transitions_are_not_drawn():
    model = GaussianHMM(2)
    model.transmat_ = np.array([[0.999, 0.001], [0.5, 0.5]])
    display = TransitionGraphDisplay.from_estimator(model)
    assert display.edges_ == [(0, 0), (1, 0), (1, 1)]
    assert [text.get_text() for text in display.ax_.texts][-2:] == ["0", "1"]
