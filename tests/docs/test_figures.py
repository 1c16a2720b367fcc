"""Figures of the documentation: each is drawn, with something in every frame; some show facts that can be read off."""

import sys
from importlib import import_module
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCUMENTS))
MAKE = import_module("figures.make")
DRAWINGS, STYLE = MAKE.DRAWINGS, MAKE.STYLE
BED = import_module("figures.clusters.cluster_test_bed")


@pytest.fixture
def drawn():
    """The figure of a name, in the style of the documentation; closed afterwards."""

    def draw(name):
        with plt.rc_context(STYLE):
            return DRAWINGS[name]()

    yield draw
    plt.close("all")


# Figures of several seconds each; `make docs` draws them too.
SLOW = ("architecture", "boltzmann_machines", "cluster_test_bed", "energy_models", "inside_networks")
SLOW += ("joint_diagonalisation", "k_medoids", "pairwise_clustering")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in sorted(DRAWINGS)]
)
def test_every_figure_is_drawn_with_something_in_every_frame(name, drawn):
    figure = drawn(name)
    assert figure.axes
    for axes in figure.axes:
        shown = (*axes.lines, *axes.images, *axes.collections, *axes.patches, *axes.texts)
        assert shown, f"{name}: a frame is empty"
        assert all(np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any() for line in axes.lines)


def test_every_figure_is_shown_on_a_page():
    pages = "\n".join(path.read_text() for path in DOCUMENTS.rglob("*.md") if "_build" not in path.parts)
    assert [name for name in DRAWINGS if f"/_build/figures/{name}.svg" not in pages] == []


@pytest.mark.catalogue("PL-39")
def test_losses_of_labels_and_of_numbers_share_an_axis_each(drawn):
    labels, numbers, _ = drawn("losses").axes
    assert {line.get_label() for line in labels.lines} == {
        "ZeroOne",
        "PerceptronLoss",
        "Hinge",
        "Logistic",
        "Exponential",
    }
    names = {"Squared", "Absolute", "Huber", "EpsilonInsensitive", "Tukey"}
    assert {line.get_label() for line in numbers.lines} == names
    margin, zero_one = labels.lines[0].get_data()
    for line in labels.lines:
        if line.get_label() in ("Hinge", "Logistic", "Exponential"):
            assert np.all(line.get_ydata()[margin != 0] >= zero_one[margin != 0] - 1e-12)


@pytest.mark.catalogue("PL-18")
def test_the_path_of_the_lasso_reaches_exact_zeros_and_that_of_ridge_does_not(drawn):
    ridge, lasso = drawn("coefficient_paths").axes
    assert all(np.all(np.asarray(line.get_ydata()) != 0) for line in ridge.lines)
    strength = np.asarray(lasso.lines[0].get_xdata())
    assert len(lasso.lines) == 10
    assert all(line.get_ydata()[strength.argmax()] == 0 for line in lasso.lines)


@pytest.mark.catalogue("PL-18")
def test_the_balls_touch_where_they_must_and_soft_thresholds_are_flat_at_zero(drawn):
    round_ball, cornered_ball, shrinkage = drawn("penalty_geometry").axes
    touch = np.array([axes.lines[-1].get_xydata()[0] for axes in (round_ball, cornered_ball)])
    np.testing.assert_allclose(np.linalg.norm(touch[0]), 1.0, atol=1e-4)
    np.testing.assert_array_equal(touch[1], [1.0, 0.0])
    least_squares, ridge, lasso = (line.get_xydata() for line in shrinkage.lines)
    np.testing.assert_allclose(ridge[:, 1], least_squares[:, 1] / 2)
    np.testing.assert_array_equal(lasso[:, 1] == 0, np.abs(lasso[:, 0]) <= 1)


@pytest.mark.catalogue("PL-19")
def test_couplings_are_heat_maps_and_scores_curves_along_the_penalty(drawn):
    chain = drawn("ising_chain")
    maps = [axes.images[0].get_array() for axes in chain.axes if axes.images]
    assert [np.shape(one) for one in maps] == [(10, 10)] * 3
    neighbours = np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1)
    np.testing.assert_allclose(maps[0], 0.5 * neighbours, atol=1e-9)
    assert any(axes.get_xscale() == "log" and len(axes.lines) >= 4 for axes in chain.axes)
    phases = drawn("ising_phases").axes
    assert [np.shape(axes.images[0].get_array()) for axes in phases[:3]] == [(40, 40)] * 3
    accuracy = {line.get_label(): np.max(line.get_ydata()) for line in phases[3].lines}
    assert accuracy["raw spins"] < 0.8 < 0.9 < min(accuracy["|m|"], accuracy["products of neighbours"])


@pytest.mark.catalogue("CL-20", "PL-28")
def test_the_test_bed_has_the_winners_that_theory_names(drawn):
    found = {shape: {name: score for name, (_, score) in row.items()} for shape, row in BED.scores().items()}
    assert min(found["equal blobs"][name] for name in ("k-means", "k-medoids", "mixture", "Ward")) > 0.97
    assert found["unequal variances"]["mixture"] > found["unequal variances"]["k-means"] + 0.1
    assert found["long"]["mixture"] > found["long"]["k-means"] + 0.2
    for shape in ("moons", "rings"):
        assert min(found[shape][name] for name in ("single", "DBSCAN", "HDBSCAN")) > 0.8
        assert max(found[shape][name] for name in ("k-means", "k-medoids", "mixture", "Ward")) < 0.6
    assert found["rings"]["kernel"] > 0.9
    centred = ("k-means", "k-medoids", "mixture", "Ward")
    # High and low dimension: what adds up over columns gains by them, a radius or a width for two columns fails.
    assert min(found["60 columns"][name] for name in (*centred, "single")) > 0.97
    assert found["60 columns"]["HDBSCAN"] > 0.9
    assert max(found["60 columns"][name] for name in ("DBSCAN", "kernel")) < 0.1
    assert max(found["40 idle columns"].values()) < 0.3
    # Few and many rows: a density needs rows, and single linkage and a fixed radius join what more rows connect.
    assert min(found["18 rows"][name] for name in (*centred, "single", "kernel")) > 0.97
    assert max(found["18 rows"][name] for name in ("DBSCAN", "HDBSCAN")) < 0.1
    assert min(found["2000 rows"][name] for name in (*centred, "kernel", "HDBSCAN")) > 0.95
    assert found["2000 rows"]["single"] < 0.1 < 0.5 < found["equal blobs"]["single"]
    assert found["2000 rows"]["DBSCAN"] < found["equal blobs"]["DBSCAN"] - 0.2
    places = drawn("cluster_test_bed").axes
    assert len(places) == len(found) * len(found["rings"])
    assert [place.get_title() for place in places[:8]] == list(found["rings"])
    assert [place.get_ylabel() for place in places[::8]] == list(found)


@pytest.mark.catalogue("PL-29")
def test_centres_split_as_soft_k_means_cools_and_cost_falls(drawn):
    centres, cost, count, _ = drawn("annealed_clusters").axes
    assert np.all(np.diff(cost.lines[0].get_ydata()) <= 1e-6)
    distinct = np.asarray(count.lines[0].get_ydata())
    assert distinct[0] == 1
    assert distinct[-1] == 4
    critical = count.lines[1].get_xdata()[0]
    beta = np.asarray(count.lines[0].get_xdata())
    assert np.all(distinct[beta < 0.95 * critical] == 1)
    places = np.asarray(centres.collections[0].get_offsets())[:, 1].reshape(-1, 4)
    assert np.ptp(places[0]) < 0.1 < 3.0 < np.ptp(places[-1])


@pytest.mark.catalogue("PL-20")
def test_each_activation_has_its_value_and_its_derivative_and_the_step_stands_beside_the_logistic_function(drawn):
    *functions, last = drawn("activation_functions").axes
    assert {"relu", "tanh", "logistic", "step"} <= {axes.get_title() for axes in functions}
    for axes in functions:
        value, slope = (line.get_xydata() for line in axes.lines)
        middles, differences = 0.5 * (value[1:, 0] + value[:-1, 0]), np.diff(value[:, 1]) / np.diff(value[:, 0])
        smooth = np.abs(differences) < 10  # the step jumps once
        gaps = np.interp(middles, slope[:, 0], slope[:, 1]) - differences
        # Where a function has a corner, the difference across it lies between the two slopes.
        assert np.mean(np.abs(gaps[smooth]) < 1e-3) > 0.99, axes.get_title()
    step, soft, steep = (line.get_ydata() for line in last.lines)
    assert set(step) == {0.0, 1.0}
    assert np.abs(steep - step).mean() < 0.5 * np.abs(soft - step).mean()


@pytest.mark.catalogue("PL-41")
def test_batch_norm_keeps_pre_activations_in_the_band_and_gradients_of_one_size(drawn):
    _, norms = drawn("batch_normalisation").axes
    plain, normalised = (line.get_ydata() for line in norms.lines)
    assert len(plain) == len(normalised) == 11
    assert normalised.max() / normalised.min() < 0.1 * plain.max() / plain.min()
    measure = import_module("figures.networks.batch_normalisation").measure
    inside = [np.mean(np.abs(measure(normalised)[0]) < 2.0) for normalised in (False, True)]
    assert inside[1] > 0.9 > 2 * inside[0]
