"""Ctrl-C at every moment of a fit: it ends as documented, leaves nothing behind, and the next fit has the same bits.

The interrupt comes at a counted call of a function of mercer, not at a moment of the clock.
"""

import sys
import warnings

import numpy as np
import pytest

from mercer._base.guard.fits import is_inside_fit
from mercer._source import threads
from mercer.cluster import KMeans
from mercer.kernel_approximation import RBFNetworkClassifier
from mercer.linear_model import LogisticRegression, Ridge
from mercer.tree import DecisionTreeClassifier
from tests.laws.subjects import digest, fitted, outputs

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
MODELS = {
    "Ridge": Ridge,
    "LogisticRegression": lambda: LogisticRegression(max_iter=20),
    "KMeans": lambda: KMeans(3, n_init=1, max_iter=4, random_state=0),
    "DecisionTreeClassifier": lambda: DecisionTreeClassifier(random_state=0),
    # Fits k-means as a part of its own fit: what that keeps is not its own state.
    "RBFNetworkClassifier": lambda: RBFNetworkClassifier(4, random_state=0),
}
# Moments tried in each fit.
MOMENTS = 40


class Interrupter:
    """Counts the calls of functions of mercer while it is the profiler, and raises KeyboardInterrupt at one of them."""

    def __init__(self, at=None):
        self.at, self.calls = at, 0

    def __call__(self, frame, event, argument):
        # A generator expression is also called to be closed, where Python drops what it raises.
        code = frame.f_code
        if event == "call" and "/mercer/" in code.co_filename and code.co_name != "<genexpr>":
            self.calls += 1
            if self.calls == self.at:
                raise KeyboardInterrupt


def fit(model, profiler=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.setprofile(profiler)
        try:
            return model.fit(X, Y)
        finally:
            sys.setprofile(None)


def note_traces():
    counts = [library.num_threads for library in threads._blas().lib_controllers]
    held = threads._guard.inside, threads.count_holds(), threads._guard.lock.locked()
    return *held, counts, is_inside_fit(), np.geterr()


@pytest.mark.parametrize("name", MODELS)
def test_ctrl_c_at_any_call_leaves_nothing_behind(name):
    reference = digest(fitted(fit(MODELS[name]())))
    counter = Interrupter()
    fit(MODELS[name](), counter)
    before = note_traces()
    outcomes = set()
    for at in np.unique(np.linspace(1, counter.calls, MOMENTS).astype(int)):
        model = MODELS[name]()
        untouched = dict(vars(model))
        with pytest.raises(KeyboardInterrupt) as caught:
            fit(model, Interrupter(at))
        assert note_traces() == before, at
        if getattr(caught.value, "mercer_state_kept", None) is model:
            outcomes.add("kept")
            assert outputs(model, X), at
        elif vars(model) == untouched:
            outcomes.add("restored")
        else:
            # Past the last statement of the fit, all that it stores is there.
            outcomes.add("finished")
            assert digest(fitted(model)) == reference, at
        assert digest(fitted(fit(model))) == reference, at
    assert "restored" in outcomes


def test_unaligned_rows_are_copied_to_an_aligned_place():
    packed = np.zeros(60, dtype=[("flag", "u1"), ("row", "f8", 3)])
    packed["row"] = X
    rows = packed["row"]
    assert not rows.flags.aligned
    np.testing.assert_array_equal(Ridge().fit(rows, Y).predict(rows), Ridge().fit(X, Y).predict(X))
