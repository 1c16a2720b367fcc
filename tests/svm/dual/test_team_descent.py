"""Large machines by a team: the bits of block descent without one, for any number of threads."""

import threading

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1

from mercer._source.threads import run_numbered
from mercer.kernels import RBF
from mercer.svm import SVC, SVR, NuSVC, OneClassSVM
from mercer.svm._dual import machines as dual_machines
from mercer.svm._dual.gram_rows import Gram
from mercer.svm._dual.team_descent import choose_width


@pytest.fixture(scope="module")
def classes():
    return make_classification(2600, 6, n_informative=4, flip_y=0.05, random_state=0)


def assert_all_are_free(count):
    """All threads meet: members of a team who stayed would be missing."""
    barrier = threading.Barrier(count, timeout=300.0)
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
            # Here slacks are added to slopes before kernel rows, there after them.
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(one, other)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kept", [0, 90, 300])
def test_how_many_rows_are_kept_changes_no_bit(classes, kept, monkeypatch):
    X, y = classes
    plenty = SVC(gamma=0.2, n_jobs=2).fit(X, y)
    room = dual_machines.TeamDescent._room_for_rows
    monkeypatch.setattr(dual_machines.TeamDescent, "_room_for_rows", lambda self: min(room(self), kept * 2624 * 4))
    few = SVC(gamma=0.2, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(few.dual_coef_, plenty.dual_coef_)
    np.testing.assert_array_equal(few.history_["objective"], plenty.history_["objective"])


def test_a_square_and_the_rows_beside_it_fit_the_cache_together(monkeypatch):
    X, y = make_classification(6000, 6, n_informative=4, flip_y=0.2, random_state=0)
    found, square = [], dual_machines.TeamDescent._make_square

    def watched(self, rows):
        whole = len(rows) == len(self.active)
        found.append((len(rows), 4 * len(rows) ** 2 + (0 if whole else self.table.values.nbytes)))
        return square(self, rows)

    monkeypatch.setattr(dual_machines.TeamDescent, "_make_square", watched)
    SVC(gamma=0.5, C=100.0, cache_size=16, n_jobs=2, tol=0.02).fit(X, y)
    sizes, used = zip(*found, strict=True)
    assert max(used) <= 16 * 2**20
    # As many as let the square have three quarters of it, in multiples of 128.
    assert min(sizes) == 1280
    assert max(size for size in sizes if size % 128 == 0) == 1664


def test_members_take_tiles_in_equal_numbers():
    assert [choose_width(100_000, members) for members in (1, 2, 16)] == [512, 512, 448]
    for columns in (130, 3000, 7375, 20_000, 100_000):
        for members in (1, 2, 5, 16):
            width = choose_width(columns, members)
            assert width % 32 == 0
            assert -(-columns // (width * members)) * width <= max(128, 1.3 * columns / members)


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
    table, slope, b = gram.make_table(np.arange(60), 25, np.float64), np.zeros(60), np.zeros(60)
    # Filled to the eighteenth slot, past the last, and then rows of the last slots beside one more.
    for positions in (np.arange(18), np.arange(18, 28), np.arange(18, 29), np.arange(30, 55), np.arange(1, 60, 6)):
        change = random.normal(size=len(positions))
        table.add(positions, change, slope)
        b[positions] += change
        held = table.kept.slot[positions]
        assert held.min() >= 0
        np.testing.assert_array_equal(table.kept.owner[held], positions)
    np.testing.assert_allclose(slope, gram.kernel(gram.X) @ b, atol=1e-12)
