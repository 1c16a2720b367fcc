"""Small machines that leave rows out for a while end at the same solution as those that never do."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from mercer.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.svm._dual import shrunk_descent

MACHINES = {
    "classes": SVC(kernel="linear", C=10.0, tol=1e-6),
    "weights": SVC(kernel="linear", C=10.0, tol=1e-6, class_weight={0: 1.0, 1: 3.0}),
    "two sums": NuSVC(kernel="linear", nu=0.7, tol=1e-6),
    "numbers": SVR(kernel="linear", C=10.0, epsilon=0.05, tol=1e-6),
    "numbers by share": NuSVR(kernel="linear", C=10.0, nu=0.3, tol=1e-6),
    "one class": OneClassSVM(gamma=0.05, nu=0.3, tol=1e-6),
}
# These leave no row out: they take fewer steps than there are rows, or most rows may move.
EASY = ("one class", "two sums")


@pytest.mark.parametrize("name", MACHINES)
def test_rows_left_out_for_a_while_change_no_solution(name, monkeypatch):
    X, y = make_classification(400, 10, n_informative=5, flip_y=0.2, random_state=0)
    noise = np.random.default_rng(0).normal(size=400)
    target = X @ np.arange(10.0) + noise if name.startswith("numbers") else y
    parts = []
    descend = shrunk_descent._descend_part
    monkeypatch.setattr(shrunk_descent, "_descend_part", lambda *given: parts.append(len(given[4])) or descend(*given))
    model, whole = MACHINES[name], MACHINES[name].__sklearn_clone__().set_params(shrinking=False)
    model.fit(X, target)
    used = len(parts)
    whole.fit(X, target)
    assert len(parts) == used, "shrinking=False leaves no row out"
    if name not in EASY:
        assert used, "the fit takes more steps than rows"
        assert max(parts) <= 0.5 * 800
    assert model.converged_
    ask = "predict" if name.startswith("numbers") else "decision_function"
    np.testing.assert_allclose(getattr(model, ask)(X), getattr(whole, ask)(X), atol=2e-4)


def test_few_rows_take_all_steps_together(monkeypatch):
    monkeypatch.setattr(shrunk_descent, "_descend_part", None)
    X, y = make_classification(200, 10, n_informative=5, flip_y=0.2, random_state=0)
    assert SVC(kernel="linear", C=10.0).fit(X, y).converged_
