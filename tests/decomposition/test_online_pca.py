"""Online PCA: Hebb's axes grow, Oja's end at length one, Sanger's are ordered, and a constant rate follows a drift."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from mercer.decomposition import PCA, OnlinePCA
from mercer.errors import DataError

X = np.random.default_rng(0).normal(size=(20_000, 3)) * [2.0, 1.0, 0.5]
SHIFT = np.array([5.0, -3.0, 1.0])


@pytest.mark.catalogue("PM-09")
@pytest.mark.parametrize("rule", ["oja", "sanger"])
def test_oja_s_rule_ends_at_the_first_component_with_length_one(rule):
    model = OnlinePCA(rule=rule, learning_rate=0.002, random_state=0).fit(X)
    assert abs(model.components_[0, 0]) == pytest.approx(1.0, abs=0.01)
    assert model.norms_[0] == pytest.approx(1.0, abs=0.01)
    assert model.n_samples_seen_ == 20_000


@pytest.mark.catalogue("PM-08")
def test_hebb_s_rule_turns_to_the_first_component_and_grows_without_bound():
    model = OnlinePCA(rule="hebb", learning_rate=0.002, random_state=0).fit(X[:8000])
    # The mean step is rate C w: along the first axis the length grows like exp(0.002 * 4 * rows).
    assert model.norms_[0] > 1e10
    direction = model.components_[0] / model.norms_[0]
    assert abs(direction[0]) > 0.99
    assert (np.diff(model.history_["objective"]) > 0).all()
    normalised = OnlinePCA(rule="hebb", learning_rate=0.002, normalize=True, random_state=0).fit(X)
    assert normalised.norms_[0] == pytest.approx(1.0)
    assert abs(normalised.components_[0, 0]) > 0.99


@pytest.mark.catalogue("PM-09")
def test_sanger_s_rule_finds_the_components_in_order():
    model = OnlinePCA(3, rule="sanger", learning_rate=0.005, decay=4000, random_state=0).fit(X)
    np.testing.assert_allclose(np.abs(model.components_), np.eye(3), atol=0.06)
    exact = PCA(3).fit(X)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(exact.components_), atol=0.06)


def test_oja_s_rule_for_several_axes_finds_their_space():
    model = OnlinePCA(2, rule="oja", learning_rate=0.002, random_state=0).fit(X)
    projection = model.components_.T @ model.components_
    np.testing.assert_allclose(projection, np.diag([1.0, 1.0, 0.0]), atol=0.1)


@pytest.mark.catalogue("PM-09")
def test_a_constant_rate_follows_an_axis_that_drifts():
    draw = np.random.default_rng(1)
    angles = np.linspace(0.0, np.pi / 2, 20_000)
    rows = draw.normal(size=20_000)[:, None] * 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    rows += 0.3 * draw.normal(size=rows.shape)
    follows, settles = (OnlinePCA(rule="oja", learning_rate=0.01, decay=decay, random_state=0) for decay in (0, 20))
    for start in range(0, 20_000, 1000):
        for model in (follows, settles):
            model.partial_fit(rows[start : start + 1000])
    assert abs(follows.components_[0, 1]) > 0.99
    assert abs(settles.components_[0, 1]) < 0.95


def test_batches_are_the_fit_in_parts():
    whole = OnlinePCA(2, random_state=0, learning_rate=0.002).fit(X[:5000])
    parts = OnlinePCA(2, random_state=0, learning_rate=0.002)
    for start in range(0, 5000, 700):
        parts.partial_fit(X[start : min(start + 700, 5000)])
    np.testing.assert_array_equal(whole.components_, parts.components_)
    np.testing.assert_array_equal(whole.mean_, parts.mean_)


def test_the_mean_is_learnt_and_the_map_can_be_undone():
    model = OnlinePCA(3, learning_rate=0.002, decay=5000, random_state=0).fit(X + SHIFT)
    np.testing.assert_allclose(model.mean_, SHIFT, atol=0.1)
    rows = X[:10] + SHIFT
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, atol=0.6)


def test_a_rate_that_is_too_large_is_an_error_with_its_cure():
    with pytest.raises(DataError, match=r"axes diverged .* Use learning_rate=.auto., scale the columns"):
        OnlinePCA(learning_rate=5.0, random_state=0).fit(X)
    with pytest.raises(DataError, match=r"at most the number of columns, 3; got 4. Lower it"):
        OnlinePCA(4).fit(X)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("table", [load_wine, load_digits], ids=lambda one: one.__name__)
def test_the_default_rate_finds_the_axes_of_rows_in_any_unit(table, unit):
    rows = StandardScaler().fit_transform(table().data) * unit
    model = OnlinePCA(2, n_epochs=20, random_state=0).fit(rows)
    whole = PCA(2).fit(rows)
    assert model.converged_
    assert (np.abs(np.sum(model.components_ * whole.components_, axis=1)) > 0.95).all()
    np.testing.assert_allclose(model.norms_, 1.0, atol=0.02)


def test_axes_that_are_not_principal_ones_have_not_converged():
    rows = StandardScaler().fit_transform(load_wine().data)
    with pytest.warns(ConvergenceWarning, match=r"residual 0\.\d+ > 0\.05; raise n_epochs, or use PCA"):
        model = OnlinePCA(2, random_state=0).fit(rows)
    assert not model.converged_
    C, w = np.cov(rows.T, bias=True), model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    sizes = np.einsum("ij,jk,ik->i", w, C, w)
    gaps = np.linalg.norm(w @ C - sizes[:, None] * w, axis=1)
    assert model.certificate_.value == pytest.approx(gaps.max() / sizes.max())
