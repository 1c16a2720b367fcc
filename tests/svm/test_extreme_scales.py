"""Weights and rows of extreme size: every fit ends, with finite coefficients."""

import warnings

import numpy as np
import pytest

from mercer.svm import SVC, SVDD, NuSVC, NuSVR, OneClassSVM, _opening
from mercer.svm._dual import machines

X = np.random.default_rng(0).normal(size=(60, 3))
LABELS = (X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=60) > 0).astype(int)


@pytest.mark.parametrize("size", [1e15, 1e30])
@pytest.mark.parametrize(("machine", "y"), [(NuSVC(), LABELS), (NuSVR(), X[:, 0]), (OneClassSVM(), None)])
def test_weights_of_any_size_end_where_rounding_allows_no_step(machine, y, size):
    fitted = machine.fit(X, y, sample_weight=np.full(60, size))
    assert fitted.converged_
    assert fitted.history_["pair_steps"][-1] < 100_000
    assert np.isfinite(fitted.dual_coef_).all()


@pytest.mark.parametrize("machine", [NuSVC, OneClassSVM])
def test_a_common_factor_of_all_weights_changes_no_decision(machine):
    y = None if machine is OneClassSVM else LABELS
    plain = machine(tol=1e-8).fit(X, y, sample_weight=np.ones(60)).decision_function(X)
    heavy = machine(tol=1e-8).fit(X, y, sample_weight=np.full(60, 2.0**60)).decision_function(X)
    # One-class machines have coefficients in the unit of the weights; only the shape of the function counts.
    np.testing.assert_allclose(heavy / np.abs(heavy).max(), plain / np.abs(plain).max(), atol=1e-3)


@pytest.mark.parametrize("size", [1e-300, 1e30, 1e300])
def test_nu_machines_scale_weights_before_solving(size):
    plain = NuSVC(tol=1e-6).fit(X, LABELS)
    scaled = NuSVC(tol=1e-6).fit(X, LABELS, sample_weight=np.full(60, size))
    assert scaled.converged_
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_a_one_class_machine_scales_weights_before_solving(size):
    plain = OneClassSVM(tol=1e-6).fit(X).decision_function(X)
    scaled = OneClassSVM(tol=1e-6).fit(X, sample_weight=np.full(60, size))
    assert scaled.converged_
    scores = scaled.decision_function(X)
    # A common factor of all weights is one of all scores.
    np.testing.assert_allclose(scores / scores.max(), plain / plain.max(), atol=1e-5)


def test_a_joint_machine_with_heavy_rows_is_stopped_and_says_so(monkeypatch):
    monkeypatch.setattr(machines, "_MOST_STEPS", 20_000)
    with pytest.warns(Warning, match="SVC: stopped by max_iter"):
        model = SVC(multi_class="joint").fit(X, np.arange(60) % 3, sample_weight=np.full(60, 1e15))
    assert model.history_["pair_steps"][-1] <= 20_000
    assert np.isfinite(model.decision_function(X)).all()


def test_a_joint_machine_of_parted_classes_ends_where_rounding_allows_no_step():
    apart = X + 9.0 * np.arange(60)[:, None] % 27
    model = SVC(multi_class="joint").fit(apart, np.arange(60) % 3, sample_weight=np.full(60, 1e18))
    assert model.converged_
    assert model.score(apart, np.arange(60) % 3) == 1.0


def test_a_machine_whose_steps_do_not_help_is_stopped_and_says_so(monkeypatch):
    monkeypatch.setattr(machines, "_MOST_STEPS", 2000)
    monkeypatch.setattr(machines, "_MOST_PER_ROW", 1)
    # Squares of these rows are below the least curvature, so that steps are far too short.
    with pytest.warns(Warning, match="SVDD"):
        model = SVDD().fit((1e-20 * X).astype(np.float32))
    assert not model.converged_
    assert model.history_["pair_steps"][-1] <= 2001


def test_ordinary_programs_are_solved_to_the_tolerance():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NuSVC(tol=1e-6).fit(X, LABELS)
    assert model.history_["violation"][-1] <= 1e-6


def test_blocks_of_rows_do_not_change_gamma(monkeypatch):
    random = np.random.default_rng(0)
    rows, weight = random.normal(size=(23, 5)), random.uniform(size=23)
    whole = _opening.compute_gamma("scale", rows, weight)
    monkeypatch.setattr(_opening, "_VALUES", 20)
    assert _opening.compute_gamma("scale", rows, weight) == whole
