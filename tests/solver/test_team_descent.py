"""Large machines by a team: the bits of block descent without one, for any number of threads."""

import threading

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1

from mercer._solver import dual_machines
from mercer._solver.gram_rows import Gram
from mercer._source.threads import run_numbered
from mercer.kernels import RBF
from mercer.svm import SVC, SVR, NuSVC, OneClassSVM


@pytest.fixture(scope="module")
def classes():
    return make_classification(2600, 6, n_informative=4, flip_y=0.05, random_state=0)


def assert_all_are_free(count):
    """All threads meet: members of a team who stayed would be missing."""
    barrier = threading.Barrier(count, timeout=20.0)
    run_numbered(lambda number: barrier.wait(), count, count)


MACHINES = {
    "classes": SVC(gamma=0.2),
    "exact values": SVC(gamma=0.2, tol=1e-5),
    "squared slacks": SVC(gamma=0.2, loss="squared_hinge"),
    "two groups": NuSVC(nu=0.3, gamma=0.2),
    "one class": OneClassSVM(nu=0.1, gamma=0.2),
    "no room for rows": SVC(gamma=0.2, cache_size=1),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_team_gives_the_bits_of_one_thread_without_it(classes, name, monkeypatch):
    X, y = classes
    found = [MACHINES[name].set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3)]
    found = [(one.dual_coef_.copy(), one.intercept_.copy(), one.history_["objective"]) for one in found]
    monkeypatch.setattr(dual_machines.TeamDescent, "serves", staticmethod(lambda gram, dtype: False))
    plain = MACHINES[name].set_params(n_jobs=1).fit(X, y)
    for one, other in zip(found[0], (plain.dual_coef_, plain.intercept_, plain.history_["objective"]), strict=True):
        if name == "squared slacks":
            # Here they are added to slopes before kernel rows, there after.
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(one, other)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_regression_whose_rows_leave_and_return_ends_at_its_optimum():
    X, y = make_friedman1(3000, noise=1.0, random_state=0)
    model = SVR(C=10.0, gamma=0.1, n_jobs=2).fit(X, y)
    assert model.converged_
    assert model.certificate_.value <= model.certificate_.tolerance
    again = SVR(C=10.0, gamma=0.1, shrinking=False).fit(X, y)
    assert model.history_["objective"][-1] == pytest.approx(again.history_["objective"][-1], rel=1e-5)


def test_a_team_goes_home_when_a_fit_is_ended(classes):
    X, y = classes
    with pytest.warns(UserWarning, match="max_time"):
        SVC(gamma=0.2, n_jobs=3, max_time=0.0).fit(X, y)
    assert_all_are_free(3)


def test_an_interrupt_before_the_first_round_sends_the_team_home(classes, monkeypatch):
    def interrupt(self):
        raise KeyboardInterrupt

    X, y = classes
    monkeypatch.setattr(dual_machines.TeamDescent, "_mark", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SVC(gamma=0.2, n_jobs=3).fit(X, y)
    assert_all_are_free(3)


def test_rows_in_use_keep_their_slots_in_a_full_table():
    random, gram = np.random.default_rng(0), Gram(RBF(), np.random.default_rng(1).normal(size=(60, 3)), 1)
    table, slope, b = gram.table(np.arange(60), 25, np.float64), np.zeros(60), np.zeros(60)
    # Filled to the eighteenth slot, past the last, and then rows of the last slots beside one more.
    for positions in (np.arange(18), np.arange(18, 28), np.arange(18, 29), np.arange(30, 55), np.arange(1, 60, 6)):
        change = random.normal(size=len(positions))
        table.add(positions, change, slope)
        b[positions] += change
        held = table.slot[positions]
        assert held.min() >= 0
        np.testing.assert_array_equal(table.owner[held], positions)
    np.testing.assert_allclose(slope, gram.kernel(gram.X) @ b, atol=1e-12)
