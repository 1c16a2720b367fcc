"""Who shares pair steps: few rows, late members, slow ones; and the bits of fits whose steps were shared."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from mercer.svm import SVC, SVR, NuSVC, OneClassSVM
from mercer.svm._dual import team_descent
from mercer.svm._dual.team_descent import StepSharing


def account(sharing, steps=500, alone=0, alone_ns=0.0, beside_ns=0.0, late=0):
    """Write what a descent of some steps leaves behind, and let it be noted."""
    beside = steps - alone
    sharing.account[0, :9] = 0.0, 0.0, steps, alone * alone_ns, alone, beside * beside_ns, beside, 1, late
    return sharing.note(1280)


def test_shares_are_as_many_as_members_and_columns_allow():
    assert [StepSharing(16).count_helpers(rows) for rows in (1280, 1024, 640, 10)] == [7, 5, 0, 0]
    assert [StepSharing(members).count_helpers(4096) for members in (1, 2, 5, 16)] == [0, 1, 4, 7]
    # Of small sets the steps are worth sharing by four, but not by two.
    assert [StepSharing(members).count_helpers(1280) for members in (1, 2, 3, 4, 5)] == [0, 0, 0, 3, 4]


def test_room_grows_with_sets():
    sharing = StepSharing(4)
    for rows, width in ((1280, 1280), (1000, 1280), (1300, 1312)):
        copies, lines, account = sharing.make_room(rows)
        assert (copies.shape, lines.shape, account.shape) == ((4, 4, width), (10, 16), (4, 16))
        assert not any(one.ctypes.data % 128 for one in (copies, lines, account))


def test_steps_alone_are_measured_once():
    sharing = StepSharing(4)
    assert sharing.make_rules(0.0, 1280, 1e-3, 100).tolist() == [0.0, 1280.0, 1e-3, 100.0, 64.0]
    assert account(sharing, alone=64, alone_ns=2000.0, beside_ns=900.0) == 500
    assert sharing.make_rules(0.0, 1280, 1e-3, 100)[4] == 0.0
    assert sharing.count_helpers(1280) == 3


def test_others_who_are_late_are_called_less_and_less_until_they_are_in_time():
    sharing, called = StepSharing(4), []
    account(sharing, alone=64, alone_ns=2000.0, beside_ns=900.0)
    for _ in range(20):
        called.append(sharing.count_helpers(1280))
        if called[-1]:
            account(sharing, beside_ns=900.0, late=1)
    assert np.flatnonzero(called).tolist() == [0, 1, 5]
    while not sharing.count_helpers(1280):
        pass
    account(sharing, beside_ns=900.0)
    assert [sharing.count_helpers(1280), sharing.count_helpers(1280)] == [3, 3]


def test_others_who_make_steps_slower_are_not_called_again_at_once():
    sharing = StepSharing(4)
    account(sharing, alone=64, alone_ns=2000.0, beside_ns=2100.0)
    account(sharing, beside_ns=2100.0)
    assert [sharing.count_helpers(1280) for _ in range(4)] == [0, 0, 0, 3]


MACHINES = {
    "classes": SVC(gamma=0.2),
    "exact values": SVC(gamma=0.2, tol=1e-5),
    "squared slacks": SVC(gamma=0.2, loss="squared_hinge"),
    "two groups": NuSVC(nu=0.3, gamma=0.2),
    "one class": OneClassSVM(nu=0.1, gamma=0.2),
    "a kink": SVR(C=1.0, gamma=0.2),
}


@pytest.mark.parametrize("name", MACHINES)
def test_fits_whose_steps_are_shared_have_the_bits_of_one_thread(name, monkeypatch):
    X, y = make_classification(2600, 6, n_informative=4, flip_y=0.05, random_state=0)
    shared, note = [], StepSharing.note

    def noted(self, rows):
        shared.append(self.account[0, 7])
        return note(self, rows)

    monkeypatch.setattr(team_descent, "_WORTH", 64)
    monkeypatch.setattr(team_descent, "_COLUMNS", 64)
    monkeypatch.setattr(StepSharing, "note", noted)
    found = []
    for n_jobs in (1, 4):
        model = MACHINES[name].set_params(n_jobs=n_jobs).fit(X, y)
        found.append((model.dual_coef_, model.intercept_, model.history_["objective"]))
    assert shared
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
