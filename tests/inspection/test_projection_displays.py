"""Embeddings, principal axes and images of components show what the fitted projections say."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits, load_iris

from mercer.decomposition import PCA
from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.errors import DataError
from mercer.inspection import ComponentImagesDisplay, EmbeddingDisplay, PrincipalAxesDisplay

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.mark.catalogue("PL-09")
def test_an_embedding_has_one_scatter_for_each_class_and_an_arrow_for_each_feature():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = PCA(3).fit(X)
    display = EmbeddingDisplay.from_estimator(model, X, names, components=(0, 2), arrows=True)
    assert [scatter.get_label() for scatter in display.scatters_] == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(display.scatters_[1].get_offsets(), model.transform(X)[50:100][:, [0, 2]])
    assert len(display.arrows_) == 4
    # All arrows share one scale, so each end is a multiple of the loadings.
    ends = np.array([arrow.xy for arrow in display.arrows_])
    loadings = model.components_[[0, 2]].T
    np.testing.assert_allclose(ends, loadings * (ends[0, 0] / loadings[0, 0]), atol=1e-12)
    assert display.ax_.get_xlabel() == "coordinate 1"
    assert display.ax_.get_ylabel() == "coordinate 3"


@pytest.mark.catalogue("PL-09")
def test_many_numbers_get_a_colour_scale_and_no_legend():
    X = load_iris().data
    display = EmbeddingDisplay.from_estimator(PCA(2).fit(X), X, X[:, 0] + 0.01 * X[:, 1])
    assert display.classes_ is None
    assert len(display.scatters_) == 1
    assert display.ax_.get_legend() is None


def test_an_embedding_without_transform_shows_the_rows_of_its_fit():
    class Layout(BaseEstimator):
        def fit(self, X):
            self.embedding_ = np.asarray(X)[:, :2]
            return self

    X = load_iris().data
    display = EmbeddingDisplay.from_estimator(Layout().fit(X), X)
    np.testing.assert_array_equal(display.scatters_[0].get_offsets(), X[:, :2])


def test_wrong_embeddings_are_refused_with_a_cure():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match=r"must have two columns; got shape \(150, 4\). Choose two"):
        EmbeddingDisplay(X)
    with pytest.raises(DataError, match="one entry per row, 150; got shape"):
        EmbeddingDisplay(X[:, :2], y[:-1])
    with pytest.raises(DataError, match=r"below the number of coordinates, 2; got \(0, 2\). Fit more"):
        EmbeddingDisplay.from_estimator(PCA(2).fit(X), X, components=(0, 2))


@pytest.mark.catalogue("PL-07")
def test_principal_axes_are_orthogonal_and_as_long_as_two_standard_deviations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ np.array([[3.0, 1.0], [0.0, 0.7]]) + 5.0
    model = PCA().fit(X)
    display = PrincipalAxesDisplay.from_estimator(model, X)
    first, second = (np.array(arrow.xy) - model.mean_ for arrow in display.arrows_)
    assert first @ second == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(first) == pytest.approx(2 * np.sqrt(model.explained_variance_[0]))
    # Segments from rows to the first axis are at right angles to it, and their squares are the smaller eigenvalue.
    gaps = X - display.projections_
    np.testing.assert_allclose(gaps @ first, 0.0, atol=1e-11)
    assert display.residual_ == pytest.approx((gaps**2).sum())
    assert display.residual_ == pytest.approx(199 * model.explained_variance_[1])
    np.testing.assert_allclose(display.scores_, model.transform(X), atol=1e-12)
    np.testing.assert_allclose(np.cov(display.scores_.T)[0, 1], 0.0, atol=1e-12)


def test_one_axis_is_completed_by_the_direction_at_a_right_angle():
    X = np.random.default_rng(1).normal(size=(30, 2)) * [3.0, 1.0]
    one, two = (PrincipalAxesDisplay.from_estimator(PCA(count).fit(X), X) for count in (1, 2))
    assert one.residual_ == pytest.approx(two.residual_)
    assert len(one.arrows_) == 1
    with pytest.raises(DataError, match="two columns; got shapes"):
        PrincipalAxesDisplay(np.zeros((3, 3)), np.zeros(3), np.eye(3), np.ones(3))


@pytest.mark.catalogue("PL-10")
def test_components_and_discriminants_are_drawn_as_images():
    X, y = load_digits(return_X_y=True)
    model = PCA(6).fit(X)
    display = ComponentImagesDisplay.from_estimator(model, (8, 8), n_images=5)
    assert display.grid_ == (2, 3)
    np.testing.assert_array_equal(display.drawn_[4].get_array(), model.components_[4].reshape(8, 8))
    varying = X[:, X.std(axis=0) > 0][:, :60]
    discriminants = LinearDiscriminantAnalysis().fit(varying, y)
    fisher = ComponentImagesDisplay.from_estimator(discriminants, (6, 10), n_images=2)
    np.testing.assert_array_equal(fisher.drawn_[1].get_array().ravel(), discriminants.scalings_[:, 1])


@pytest.mark.catalogue("PL-10")
def test_reconstructions_stand_below_their_originals():
    X = load_digits().data[:4]
    model = PCA(10).fit(load_digits().data)
    display = ComponentImagesDisplay.from_reconstructions(model, X, (8, 8))
    assert display.grid_ == (2, 4)
    np.testing.assert_array_equal(display.drawn_[1].get_array().ravel(), X[1])
    np.testing.assert_allclose(display.drawn_[5].get_array().ravel(), model.inverse_transform(model.transform(X))[1])
    with pytest.raises(DataError, match=r"as many pixels as there are columns, 64; got \(8, 7\) with 56"):
        ComponentImagesDisplay(X, (8, 7))
