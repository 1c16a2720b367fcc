"""The margin program from the last basis: the optimum of a solver that starts anew, hypothesis by hypothesis."""

import warnings

import numpy as np
import pytest

from mercer.ensemble import LPBoostClassifier
from mercer.ensemble._reweighting import lp_boost as _lp_boost
from mercer.ensemble._reweighting.lp_boost import solve_groups
from mercer.ensemble._reweighting.margin_simplex import Basis, grow_basis, make_first_basis, restart


def grow(right, weight, nu):
    """Yield the programs of more and more hypotheses: patterns, shares, and what is found from the last basis."""
    group, patterns, basis = np.zeros(len(right), dtype=int), np.empty((1, 0)), None
    for column in right.T:
        halves, group = np.unique(2 * group + column, return_inverse=True)
        patterns = np.column_stack([patterns[halves // 2], np.where(halves % 2 == 1, 1.0, -1.0)])
        share = np.bincount(group, weight) / weight.sum()
        bounds = np.full(len(share), np.inf) if nu is None else share / nu
        basis = make_first_basis(patterns[:, 0], bounds) if basis is None else grow_basis(basis, halves // 2, bounds)
        found = restart(patterns, bounds, basis)
        assert found is not None
        basis = found[3]
        yield patterns, share, bounds, found


@pytest.mark.catalogue("TE-20")
@pytest.mark.parametrize("nu", [None, 0.05, 0.4, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_program_is_solved_to_its_optimum(nu, seed):
    random = np.random.default_rng(seed)
    # Six rows in ten right, many rows alike: ties and masses at their bounds everywhere.
    right = np.repeat(random.random((60, 12)) < 0.6, random.integers(1, 4, 60), axis=0)
    weight = random.integers(1, 4, len(right)).astype(float)
    for patterns, share, bounds, (weights, margin, objective, basis) in grow(right, weight, nu):
        assert objective == pytest.approx(solve_groups(patterns, share, nu)[2], abs=1e-9)
        votes = patterns @ weights
        slack = 0.0 if nu is None else (bounds * np.maximum(margin - votes, 0.0)).sum()
        assert margin - slack == pytest.approx(objective, abs=1e-9)
        assert nu is not None or votes.min() >= margin - 1e-9
        assert basis.mass.sum() == pytest.approx(1.0, abs=1e-9)
        assert (basis.mass <= bounds).all()
        assert (basis.mass @ patterns).max() == pytest.approx(objective, abs=1e-9)


def test_the_first_hypothesis_has_its_mass_where_it_is_wrong():
    basis = make_first_basis(np.array([1.0, -1.0, -1.0]), np.array([0.9, 0.3, 0.4]))
    np.testing.assert_allclose(basis.mass, [0.3, 0.3, 0.4])
    assert basis.basic.tolist() == [0, -1]
    assert basis.upper.tolist() == [False, True, True]


def test_a_mass_that_is_parted_fills_the_first_part():
    old = Basis(np.array([1, -1]), np.array([True, False]), np.array([0.5, 0.5]))
    new = grow_basis(old, np.array([0, 0, 1, 1]), np.array([0.2, 0.3, 0.4, 0.4]))
    np.testing.assert_allclose(new.mass, [0.2, 0.3, 0.4, 0.1])
    assert new.basic.tolist() == [3, -1, -3]
    assert new.upper.tolist() == [True, True, True, False]


def test_where_pivots_fail_the_program_is_solved_anew(monkeypatch):
    random = np.random.default_rng(1)
    X = random.normal(size=(80, 3))
    y = (X[:, 0] + X[:, 1] > 0.3 * random.normal(size=80)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pivoted = LPBoostClassifier(nu=0.2, n_estimators=200).fit(X, y)
        monkeypatch.setattr(_lp_boost, "restart", lambda *_: None)
        anew = LPBoostClassifier(nu=0.2, n_estimators=200).fit(X, y)
    assert pivoted.converged_
    assert anew.converged_
    assert anew.history_["objective"][-1] == pytest.approx(pivoted.history_["objective"][-1], abs=2e-6)
