"""The number of clusters: every criterion finds that of clear groups, and nothing is found in noise."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mercer.cluster import KMeans
from mercer.errors import DataError, ParameterError
from mercer.inspection import ClusterNumberDisplay
from mercer.metrics import choose_n_clusters, cluster_stability, gap_statistic

MODEL = KMeans(n_init=3)


@pytest.fixture(scope="module")
def groups():
    return make_blobs(300, 2, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], cluster_std=1.0, random_state=0)[0]


@pytest.fixture(scope="module")
def choice(groups):
    return choose_n_clusters(MODEL, groups, range(1, 7), n_references=5, n_pairs=5, random_state=0)


@pytest.mark.catalogue("CL-21")
def test_every_criterion_finds_four_clear_groups(choice):
    assert set(choice.choices.values()) == {4}
    assert choice.n_clusters == 4
    assert np.isnan(choice.curves["silhouette"][0])
    assert all(len(curve) == 6 for curve in choice.curves.values())


@pytest.mark.catalogue("CL-21")
@pytest.mark.fixed_seed("the rule of one standard error speaks for two groups on some tables without any")
def test_the_gap_of_rows_without_groups_speaks_for_one():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    gaps, errors = gap_statistic(MODEL, X, [1, 2, 3], random_state=0)
    assert gaps[0] >= gaps[1] - errors[1]
    # The box along the principal axes is larger than the square itself, by the same factor for every number.
    assert np.ptp(gaps) < 0.1


@pytest.mark.catalogue("CL-21")
def test_the_right_number_is_stable_and_others_are_less(groups):
    stability = cluster_stability(MODEL, groups, [3, 4, 6], n_pairs=6, random_state=0)
    assert stability[1] > 0.99
    assert stability[1] > max(stability[0], stability[2])


def test_one_seed_gives_one_answer(groups, choice):
    again = choose_n_clusters(MODEL, groups, range(1, 7), n_references=5, n_pairs=5, random_state=0)
    for name, curve in choice.curves.items():
        np.testing.assert_array_equal(again.curves[name], curve)


def test_the_display_draws_every_curve_and_marks_what_each_chooses(choice):
    matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
    matplotlib.use("Agg")
    display = ClusterNumberDisplay(choice).plot()
    drawn = {ax.get_title(): ax.lines[0].get_ydata() for ax in display.axes_}
    assert set(drawn) == set(choice.choices)
    np.testing.assert_array_equal(drawn["gap"], choice.curves["gap"])
    matplotlib.pyplot.close(display.figure_)


def test_numbers_and_criteria_that_make_no_sense_are_refused(groups):
    with pytest.raises(DataError, match=r"n_clusters must be rising positive integers, at least one; got \[3, 2\]"):
        gap_statistic(MODEL, groups, [3, 2])
    with pytest.raises(ParameterError, match="criterion must be one of 'gap'"):
        choose_n_clusters(MODEL, groups, criterion="elbow")
