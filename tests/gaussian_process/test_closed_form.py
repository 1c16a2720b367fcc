"""Few rows with a radial kernel: the evidence by native code is that of the kernel's own verbs."""

import numpy as np
import pytest

from mercer._source.threads import one_blas_thread
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.gaussian_process._closed_form import RadialEvidence, TileEvidence, make_exact_evidence
from mercer.gaussian_process._covariance import read_form
from mercer.gaussian_process._evidence import ExactEvidence
from mercer.kernels import RBF, Constant, Matern, RationalQuadratic, White

LENGTHS = np.array([0.7, 1.3, 2.0])
FORMS = [
    RBF(1.3),
    Constant(2.0) * RBF(1.5),
    Constant(1.5) * RBF(1.2) + White(0.3),
    White(0.1) + Constant(0.5) * Matern(LENGTHS, nu=2.5) * Constant(3.0) + White(0.2),
    RBF(LENGTHS) + White(0.2, "fixed"),
    Matern(1.1, nu=1.5) * Constant(2.0, "fixed"),
    RBF(1.0, "fixed") + White(0.5),
    Matern(0.8, nu=np.inf),
]
OTHERS = [
    RBF(gamma=0.5),
    RBF(1.0) + RBF(3.0),
    Matern(1.0, nu=1.1),
    RationalQuadratic(),
    RBF(1.0) * White(1.0),
    Constant(1.0) + RBF(1.0),
    White(1.0),
    RBF(1.0) ** 2,
]


def make_rows(targets=2, n=60):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, random.normal(size=(n, targets)) + X[:, :1], np.full(n, 0.01)


@pytest.mark.parametrize("kernel", FORMS, ids=str)
@pytest.mark.parametrize("targets", [1, 2])
def test_the_tile_measures_what_the_general_way_does(kernel, targets):
    given = make_rows(targets)
    assert read_form(kernel) is not None
    tile, general = TileEvidence(*given).measure(kernel), ExactEvidence(*given).measure(kernel)
    assert np.isclose(tile.value, general.value, rtol=1e-11)
    assert np.allclose(tile.slope, general.slope, rtol=1e-8, atol=1e-7)
    assert np.allclose(tile.information, general.information, rtol=1e-9)
    assert np.isclose(tile.rounding, general.rounding, rtol=1e-6)


def test_the_slope_of_a_kernel_with_a_cusp_is_that_of_differences():
    # Rounding leaves a small distance of a row to itself, which the root in this kernel makes visible.
    kernel, step = Constant(2.0) * Matern(1.3, nu=0.5), 1e-5
    evidence, general = (kind(*make_rows()) for kind in (TileEvidence, ExactEvidence))
    slope = evidence.measure(kernel).slope
    for place, direction in enumerate(np.eye(2)):
        ends = [evidence.evaluate(kernel.with_theta(kernel.theta + sign * step * direction))[0] for sign in (1, -1)]
        assert np.isclose(slope[place], (ends[0] - ends[1]) / (2 * step), rtol=1e-6)
    assert np.allclose(general.measure(kernel).slope, slope, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel", OTHERS, ids=str)
def test_kernels_without_the_closed_form_go_the_general_way(kernel):
    given = make_rows()
    assert read_form(kernel) is None
    tile, general = TileEvidence(*given).measure(kernel), ExactEvidence(*given).measure(kernel)
    assert tile.value == general.value
    assert np.array_equal(tile.slope, general.slope)


def test_the_posterior_at_the_last_place_has_the_bits_of_one_computed_anew():
    given, kernel = make_rows(), FORMS[2]
    evidence = TileEvidence(*given)
    evidence.measure(kernel)
    known, anew = evidence.compute_posterior(kernel), TileEvidence(*given).compute_posterior(kernel)
    assert np.array_equal(known.L, anew.L)
    assert np.array_equal(known.alpha, anew.alpha)
    assert known.value == anew.value
    # Another place is not taken for the last one, and the arrays of the first stay as they are.
    factor = known.L.copy()
    assert evidence.compute_posterior(FORMS[1]).value == TileEvidence(*given).compute_posterior(FORMS[1]).value
    assert np.array_equal(known.L, factor)


def test_equal_rows_without_noise_take_the_least_jitter_that_suffices():
    X, Y, _ = make_rows()
    X[1], Y[1] = X[0], Y[0]
    posteriors = [kind(X, Y, np.zeros(60)).compute_posterior(RBF(1.0)) for kind in (TileEvidence, ExactEvidence)]
    assert posteriors[0].jitter > 0.0
    assert posteriors[0].jitter == pytest.approx(posteriors[1].jitter, rel=1e-12, abs=0.0)


def test_rows_beyond_one_tile_or_with_weights_are_not_a_tile():
    X, Y, noise = make_rows(n=257)
    assert type(make_exact_evidence(X, Y, noise, None)) is RadialEvidence
    assert type(make_exact_evidence(X, Y, noise, np.ones(257))) is ExactEvidence
    assert type(make_exact_evidence(X[:256], Y[:256], noise[:256], None)) is TileEvidence
    assert type(make_exact_evidence(X[:256], Y[:256], noise[:256], np.ones(256))) is ExactEvidence


ONE_LENGTH = [
    Constant(2.0) * RBF(1.5),
    White(0.1) + Constant(0.5) * Matern(1.1, nu=2.5) * Constant(3.0) + White(0.2),
    Matern(1.1, nu=1.5) * Constant(2.0, "fixed") + White(0.2, "fixed"),
    Constant(2.0) * Matern(0.9, nu=0.5) + White(0.3),
]


@pytest.mark.parametrize("kernel", ONE_LENGTH, ids=str)
@pytest.mark.parametrize("targets", [1, 2])
def test_more_rows_than_a_tile_measure_what_the_general_way_does_on_any_number_of_threads(kernel, targets):
    given = make_rows(targets, 300)
    evidence, general = RadialEvidence(*given), ExactEvidence(*given).measure(kernel)
    with one_blas_thread():
        found, again = evidence.measure(kernel, 1), evidence.measure(kernel, 2)
        assert np.array_equal(evidence.evaluate(kernel)[1], found.slope)
    assert all(np.array_equal(one, other) for one, other in zip(found, again, strict=True))
    assert np.isclose(found.value, general.value, rtol=1e-12)
    assert np.allclose(found.slope, general.slope, rtol=1e-8, atol=1e-7)
    assert np.allclose(found.information, general.information, rtol=1e-9)
    assert np.isclose(found.rounding, general.rounding, rtol=1e-6)


@pytest.mark.parametrize("kernel", ONE_LENGTH, ids=str)
def test_curvatures_of_fit_and_volume_are_those_of_differences(kernel, monkeypatch):
    # The trace in the second is estimated with random signs: many, for a small error.
    monkeypatch.setattr("mercer.gaussian_process._closed_form._PROBES", 2000)
    X, Y, noise = make_rows(2, 300)
    # Differences err by the square of the step: some 1e-5 of the curvatures.
    step, start, p = 3e-4, kernel.theta, kernel.n_dims

    def parts(theta):
        C = kernel.with_theta(theta)(X) + np.diag(noise)
        return 0.5 * np.vdot(Y, np.linalg.solve(C, Y)), np.linalg.slogdet(C)[1]

    fit, volume = np.empty((p, p)), np.empty((p, p))
    for i, j in np.ndindex(p, p):
        one, other = step * np.eye(p)[i], step * np.eye(p)[j]
        corners = [(1, one + other), (-1, one - other), (-1, other - one), (1, -one - other)]
        ends = sum(sign * np.array(parts(start + move)) for sign, move in corners)
        fit[i, j], volume[i, j] = ends / (4.0 * step**2)
    found = RadialEvidence(X, Y, noise).measure(kernel)
    assert np.allclose(found.fit, fit, rtol=1e-4, atol=1e-4 * np.abs(fit).max())
    assert np.abs(found.volume - volume).max() < 0.03 * np.abs(volume).max()


def test_the_matrices_of_the_last_evaluation_are_used_again_and_become_the_posterior():
    given, kernel = make_rows(n=300), ONE_LENGTH[0]
    evidence = RadialEvidence(*given)
    evidence.measure(kernel)
    (used,) = evidence.matrices
    evidence.measure(kernel.with_theta([0.1, 0.2]))
    assert evidence.matrices == [used]
    evidence.measure(kernel)
    anew, known = RadialEvidence(*given).compute_posterior(kernel), evidence.compute_posterior(kernel)
    assert known.L is used.C
    assert np.array_equal(known.L, anew.L)
    assert np.array_equal(known.alpha, anew.alpha)
    assert (known.value, known.jitter) == (anew.value, anew.jitter)
    # The posterior keeps its matrix: the next evaluation has others.
    evidence.measure(kernel.with_theta([0.1, 0.2]))
    assert np.array_equal(known.L, anew.L)


def test_parts_have_half_of_the_rows_and_a_closed_form_without_noise():
    X, Y, noise = make_rows(n=600)
    evidence = RadialEvidence(X, Y, 1e-8 * noise)
    sizes = [len(part.Y) for part in evidence.list_parts(ONE_LENGTH[0])]
    assert sizes == [75, 150, 300]
    assert not evidence.list_parts(ONE_LENGTH[3])
    assert not RadialEvidence(X, Y, noise).list_parts(ONE_LENGTH[0])
    assert not evidence.list_parts(RBF(LENGTHS))
    assert not evidence.list_parts(RationalQuadratic())


def test_restarts_side_by_side_change_no_bit():
    X, Y, _ = make_rows()
    models = [
        GaussianProcessRegressor(FORMS[2], n_restarts_optimizer=4, random_state=0, n_jobs=jobs).fit(X, Y[:, 0])
        for jobs in (1, 4)
    ]
    assert models[0].log_marginal_likelihood_value_ == models[1].log_marginal_likelihood_value_
    assert np.array_equal(models[0].L_, models[1].L_)
