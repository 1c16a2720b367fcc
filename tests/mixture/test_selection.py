"""Choosing a mixture by an information criterion."""

import numpy as np
import pytest
from scipy.special import entr

from mercer.errors import ParameterError
from mercer.mixture import BernoulliMixture, GaussianMixture, select_mixture

MEANS = ([0, 0], [12, 0], [0, 12])


@pytest.fixture(scope="module")
def rows():
    # Of unequal variances: with equal ones, one covariance for all would be as true, with as many parameters.
    generator = np.random.default_rng(0)
    return np.concatenate(
        [scale * generator.normal(size=(150, 2)) + shift for scale, shift in zip((1, 0.5, 1.5), MEANS)]
    )


@pytest.mark.catalogue("MS-07", "MS-15")
def test_the_true_number_and_shape_are_chosen_and_the_table_holds_the_formulas(rows):
    found = select_mixture(rows, range(1, 6))
    assert (found.best.n_components, found.best.covariance_type) == (3, "spherical")
    assert len(found.table["bic"]) == 20
    chosen = int(np.argmin(found.table["bic"]))
    model, value = found.best, 450 * found.best.score(rows)
    # Three means of two columns, three variances, two free shares.
    assert found.table["n_parameters"][chosen] == 11
    assert found.table["bic"][chosen] == pytest.approx(11 * np.log(450) - 2 * value, rel=1e-12)
    assert found.table["aic"][chosen] == pytest.approx(22 - 2 * value, rel=1e-12)
    entropy = entr(model.predict_proba(rows)).sum()
    assert model.icl(rows) == pytest.approx(model.bic(rows) + 2 * entropy, rel=1e-12)
    assert found.table["icl"][chosen] == pytest.approx(model.icl(rows), rel=1e-12)
    assert sum(found.table["probability"]) == pytest.approx(1.0)
    assert int(np.argmax(found.table["probability"])) == chosen


def test_the_integrated_likelihood_prefers_components_that_tell_rows_apart():
    """One uniform stretch: BIC pays for two overlapping Gaussians sooner than ICL does."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(3000, 1))
    by_bic = select_mixture(X, (1, 2, 3), ["full"], criterion="bic")
    by_icl = select_mixture(X, (1, 2, 3), ["full"], criterion="icl")
    assert by_bic.best.n_components > by_icl.best.n_components == 1


def test_weights_count_as_rows(rows):
    weight = np.random.default_rng(2).integers(0, 3, 450)
    base = GaussianMixture(means_init=rows[[0, 200, 400]], tol=1e-8, max_iter=500)
    weighted = select_mixture(rows, [3], ["tied", "diag"], estimator=base, sample_weight=weight.astype(float))
    repeated = select_mixture(rows.repeat(weight, axis=0), [3], ["tied", "diag"], estimator=base)
    np.testing.assert_allclose(weighted.table["bic"], repeated.table["bic"], rtol=1e-8)


def test_other_mixtures_can_be_chosen_from():
    generator = np.random.default_rng(3)
    p = np.array([[0.9] * 5 + [0.1] * 5, [0.1] * 5 + [0.9] * 5])
    X = (generator.random((400, 10)) < p[generator.integers(0, 2, 400)]).astype(float)
    found = select_mixture(X, (1, 2, 3), estimator=BernoulliMixture(random_state=0))
    assert found.best.n_components == 2
    assert "covariance_type" not in found.table


def test_impossible_choices_are_sentences(rows):
    with pytest.raises(ParameterError, match="criterion must be one of 'bic', 'aic', 'icl'; got 'dic'"):
        select_mixture(rows, criterion="dic")
    with pytest.raises(ParameterError, match="must name at least one each; got none"):
        select_mixture(rows, [])
