"""Pair steps shared by several threads: the bits of a descent alone, at every CPU level and uncompiled."""

import importlib
import threading

import numpy as np
import pytest

from mercer.svm._dual.team_descent import make_aligned


def native(level, name):
    return importlib.import_module(f"mercer._native.{level}.{name}")


def problem(n, dtype, kink=0.0, ridge=0.0, ties=False):
    """The square of some rows, and coefficients, slopes, moves, bounds and diagonal before the first step."""
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 3))
    if ties:
        X[n // 2 :] = X[: n - n // 2]
    K = np.exp(-0.5 * ((X[:, None, :] - X[None]) ** 2).sum(axis=2)).astype(dtype)
    inner = np.zeros((7, n))
    inner[1] = -np.sign(X[:, 0]) if kink == 0 else -X[:, 0]
    inner[4], inner[5] = np.where(inner[1] < 0, 0.0, -1.0), np.where(inner[1] < 0, 1.0, 0.0)
    if kink > 0:
        inner[4], inner[5] = -1.0, 1.0
    inner[6] = K.diagonal() + ridge
    importlib.import_module("mercer._native.dual.pair_descent").mark_moves(*inner[[0, 4, 5]], kink, inner[2], inner[3])
    return K, inner


def descend_alone(level, K, inner, kink, split, goal, most):
    none = np.empty((0, 0), K.dtype), np.empty((0, 0), K.dtype), np.empty(0, np.uint8)
    rules = np.array([kink, split, goal, most], dtype=np.float64)
    return native(level, "pair_descent").descend(K, *none, inner, rules, np.empty(2))


class Team:
    """Threads that wait for steps to share; on leaving they are stopped, and must end."""

    def __init__(self, level, K, shares, members=None):
        n, nothing = len(K), [np.empty((1,) * ndim, K.dtype) for ndim in (2, 1, 3, 1, 3, 2, 2)]
        self.shares, self.account = shares, make_aligned((shares, 16))
        self.work = native(level, "dual_rounds").DualTasks(
            np.ones(4), np.zeros(32 + 8 * shares, np.int64), 16, np.zeros((shares, 4, 1), np.int32)
        )
        self.work.hold_tiles(1, np.empty((4, 1), np.intp), np.empty((1, 4), np.intp), np.empty((1, 4)))
        self.work.hold_program(np.arange(1), np.zeros(1), np.zeros(1), 0.0, 1, np.zeros((4, 1)))
        self.work.hold_values(int(K.dtype == np.float64), nothing)
        self.work.offer_square(np.arange(n), nothing[1], np.arange(n), np.empty((0, 2), np.intp), K)
        self.work.hold_steps(make_aligned((shares, 4, n)), make_aligned((2 + 2 * shares, 16)), self.account)
        members = shares - 1 if members is None else members
        self.threads = [threading.Thread(target=self.work.help, args=(1 + k,), daemon=True) for k in range(members)]

    def __enter__(self):
        self.work.call()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.work.dismiss()
        for thread in self.threads:
            thread.join(timeout=300.0)
        assert not any(thread.is_alive() for thread in self.threads)

    def descend(self, inner, kink, split, goal, most, apart=0):
        """The number of steps, of those that others shared, and of these others."""
        rules = np.array([kink, split, goal, most, apart], dtype=np.float64)
        self.work.descend(inner, rules, self.shares - 1)
        _, _, steps, _, alone, _, shared, others = self.account[0, :8]
        assert alone + shared == steps
        return int(steps), int(shared), int(others)


PROGRAMS = {
    "one group": {"n": 83, "split": 83},
    "two groups": {"n": 83, "split": 37},
    "a kink": {"n": 70, "split": 70, "kink": 0.1},
    "a kink and two groups": {"n": 70, "split": 48, "kink": 0.1},
    "a ridge": {"n": 64, "split": 64, "ridge": 0.25},
    "ties": {"n": 81, "split": 81, "ties": True},
    "ties and two groups": {"n": 81, "split": 30, "ties": True},
    "fewer columns than shares have lines": {"n": 20, "split": 20},
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shares", [1, 2, 3, 4, 5])
def test_shared_steps_have_the_bits_of_steps_alone(level, dtype, name, shares):
    terms = dict(PROGRAMS[name])
    split = terms.pop("split")
    K, start = problem(dtype=dtype, **terms)
    limits = (terms.get("kink", 0.0), split, 1e-5, 200 if level != "interpreted" else 25)
    expected, found = start.copy(), start.copy()
    steps = descend_alone(level, K, expected, *limits)
    assert steps > 10
    with Team(level, K, shares) as team:
        taken, shared, others = team.descend(found, *limits, apart=-1)
        assert (taken, others) == (steps, shares - 1)
        assert (shared > 0) == (shares > 1)
        np.testing.assert_array_equal(found, expected)


def test_a_leader_whom_nobody_joins_descends_alone(level):
    K, start = problem(50, np.float64)
    expected, found = start.copy(), start.copy()
    steps = descend_alone(level, K, expected, 0.0, 50, 1e-4, 40)
    with Team(level, K, 4, members=0) as team:
        assert team.descend(found, 0.0, 50, 1e-4, 40) == (steps, 0, 0)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("apart", [0, 1])
def test_a_descent_that_is_over_at_once_keeps_nobody(level, apart):
    K, start = problem(50, np.float64)
    found = start.copy()
    with Team(level, K, 3) as team:
        for _ in range(20):
            assert team.descend(found, 0.0, 50, np.inf, 40, apart) == (0, 0, 0)
            assert team.descend(found, 0.0, 50, 1e-4, 0, apart) == (0, 0, 0)
    np.testing.assert_array_equal(found, start)


def test_a_team_larger_than_the_machine_gets_through_many_descents(level):
    K, start = problem(150, np.float32)
    most, times = (400, 12) if level != "interpreted" else (20, 3)
    expected, found = start.copy(), start.copy()
    descend_alone(level, K, expected, 0.0, 150, 1e-7, most)
    with Team(level, K, 8) as team:
        for number in range(times):
            found[:] = start
            team.descend(found, 0.0, 150, 1e-7, most, number % 4 - 1)
            np.testing.assert_array_equal(found, expected)


def test_when_one_is_late_all_leave_and_the_leader_goes_on_alone(monkeypatch):
    shared_steps = importlib.import_module("mercer._native.dual.shared_steps")
    monkeypatch.setattr(shared_steps, "LATE", -1)
    K, start = problem(60, np.float64)
    expected, found = start.copy(), start.copy()
    steps = descend_alone("interpreted", K, expected, 0.0, 60, 1e-4, 40)
    with Team("interpreted", K, 3) as team:
        assert team.descend(found, 0.0, 60, 1e-4, 40, apart=-1) == (steps, 1, 2)
        assert team.account[0, 8] == 1.0
    np.testing.assert_array_equal(found, expected)


def test_shares_that_are_closed_are_the_last_and_leave_no_gap():
    team, control = importlib.import_module("mercer._native.shared.team"), np.zeros(32, np.int64)
    for claimed in range(7):
        team.publish(control, 5)
        for _ in range(claimed):
            team.claim(control)
        assert team.claim_rest(control, 5) == min(5, claimed)
        assert team.read_item(team.claim(control)) == -1
