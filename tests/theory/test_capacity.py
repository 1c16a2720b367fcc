"""VC dimensions and the bound from a margin, against enumeration and closed forms."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from mercer import kernels
from mercer.errors import ParameterError
from mercer.kernels import Linear, Polynomial
from mercer.svm import SVC, LinearSVC
from mercer.theory import find_shattered, is_shattered, margin_bound, vc_dimension
from mercer.theory._capacity import count_dimensions

RECTANGLE = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]])
SIDES = [-1, -1, 1, 1]


def enclose(points):
    """Return the squared radius of the smallest circle around points of the plane, over all pairs and triples."""
    best = np.inf
    for corners in [*combinations(points, 2), *combinations(points, 3)]:
        # The centre is at one distance from all corners, and in their span.
        steps = np.array([corner - corners[0] for corner in corners[1:]])
        centre = corners[0] + np.linalg.lstsq(steps, (steps**2).sum(axis=1) / 2, rcond=None)[0]
        radius = ((corners[0] - centre) ** 2).sum()
        if ((points - centre) ** 2).sum(axis=1).max() <= radius * (1 + 1e-9):
            best = min(best, radius)
    return best


def can_split(points, labels, offset):
    """Return whether a hyperplane gives these labels, by a linear program: y (w x + b) >= 1."""
    rows = np.column_stack([points, np.ones(len(points))]) if offset else points
    constraints = -np.asarray(labels)[:, None] * rows
    return linprog(np.zeros(rows.shape[1]), constraints, -np.ones(len(points)), bounds=(None, None)).status == 0


def label_by_grids(points, model_class):
    """Return all labellings of points of the plane or line that parameters on a fine grid give, from definitions."""
    steps = np.linspace(-1.3, 1.3, 27)
    if model_class == "thresholds":
        kinds = (points[:, 0] > t for t in steps)
    elif model_class == "intervals":
        kinds = ((points[:, 0] > a) & (points[:, 0] < b) for a in steps for b in steps)
    elif model_class == "boxes":
        ends = [(a, b) for a in steps for b in steps if a < b]
        columns = np.array([(points > a) & (points < b) for a, b in ends])
        kinds = (first[:, 0] & second[:, 1] for first in columns for second in columns)
    elif model_class == "sine":
        kinds = (np.sin(w * points[:, 0]) > 0 for w in np.arange(1, 40_000) / 10.0)
    else:
        offsets = steps if model_class == "hyperplanes" else [0.0]
        turns = np.linspace(0, 2 * np.pi, 721)
        kinds = (points @ [np.cos(t), np.sin(t)] + c > 0 for t in turns for c in offsets)
    return {tuple(kind.tolist()) for kind in kinds}


@pytest.mark.catalogue("LT-05", "LT-03", "MS-08")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("model_class", "n_features", "size"),
    [("thresholds", 1, 6), ("intervals", 1, 6), ("boxes", 2, 6), ("hyperplanes", 2, 6), ("origin hyperplanes", 2, 6)],
)
def test_a_search_over_all_subsets_of_points_finds_the_dimension(model_class, n_features, size, unit):
    """Of a table of points, the largest subset that all parameters on a grid label in every way, by brute force."""
    diamond = np.array([[1.0, 0.02], [-0.95, 0.01], [0.03, 1.1], [-0.04, -0.9]])
    inner = np.random.default_rng(0).uniform(-0.8, 0.8, size=(2, 2))
    points = np.vstack([diamond, inner])[:size, :n_features]
    labels = label_by_grids(points, model_class)
    most = 0
    for count in range(1, size + 1):
        for chosen in combinations(range(size), count):
            if len({tuple(one[i] for i in chosen) for one in labels}) == 2**count:
                most = count
    found = find_shattered(unit * points, model_class)
    assert len(found) == most == vc_dimension(model_class, n_features)
    assert len({tuple(one[i] for i in found) for one in labels}) == 2**most


@pytest.mark.catalogue("LT-05", "MS-08")
@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
@pytest.mark.parametrize(("name", "offset"), [("hyperplanes", True), ("origin hyperplanes", False)])
def test_a_neuron_shatters_as_many_points_as_it_has_weights_and_not_one_more(name, offset, n_features):
    """With as many points as weights a linear system gives any scores; one point more depends on the others (Radon)."""
    dimension = vc_dimension(name, n_features)
    random = np.random.default_rng(n_features)
    points = random.normal(size=(dimension + 1, n_features))
    rows = np.column_stack([points, np.ones(dimension + 1)]) if offset else points
    assert np.linalg.matrix_rank(rows[:dimension]) == dimension == rows.shape[1]
    # Labels of the signs of the dependence cannot be had: its sum of y_i (w . x_i) would be positive and zero.
    dependence = np.linalg.svd(rows.T)[2][-1]
    refused = np.where(dependence > 0, 1, -1)
    assert not can_split(points, refused, offset)
    assert all(can_split(points[:dimension], labels, offset) for labels in product([-1, 1], repeat=dimension))
    assert not is_shattered(points, name)
    assert is_shattered(points[:dimension], name)
    assert len(find_shattered(points, name)) == dimension


@pytest.mark.catalogue("LT-05")
def test_boxes_shatter_two_points_a_column_and_one_frequency_any_number():
    points = np.concatenate([np.eye(3), -np.eye(3)])
    assert vc_dimension("boxes", 3) == len(points)
    for labels in product([False, True], repeat=6):
        inside = points[list(labels)]
        low, high = (inside.min(axis=0), inside.max(axis=0)) if len(inside) else (np.ones(3), -np.ones(3))
        np.testing.assert_array_equal(((points >= low) & (points <= high)).all(axis=1), labels)
    assert find_shattered(np.vstack([points, np.zeros((1, 3))]), "boxes").tolist() == list(range(6))
    assert vc_dimension("balls", 3) == 4
    tenths = 10.0 ** -np.arange(1, 4)[:, None]
    assert label_by_grids(tenths, "sine") == set(product([False, True], repeat=3))
    assert find_shattered(tenths, "sine", max_frequency=4000.0).tolist() == [0, 1, 2]
    assert vc_dimension("sine") == np.inf


@pytest.mark.parametrize("n_features", [0, -1, 2.5, True, "3"])
def test_columns_are_counted_by_whole_numbers(n_features):
    with pytest.raises(ParameterError, match=r"vc_dimension: n_features must be an integer in \[1, inf\); got "):
        vc_dimension("boxes", n_features)
    with pytest.raises(ParameterError, match="vc_dimension: model_class must be one of hyperplanes, "):
        vc_dimension("trees")


@pytest.mark.catalogue("LT-12")
def test_the_margin_bound_counts_columns_or_margins():
    model = SVC(C=1e6, kernel="linear", tol=1e-9).fit(RECTANGLE, SIDES)
    # The margin is 2 and the sphere around the rectangle has the squared radius 4.25.
    assert margin_bound(model, RECTANGLE, ceiling=False) == pytest.approx(4.25 / 4 + 1, rel=1e-4)
    assert margin_bound(model, RECTANGLE) == 3.0
    near = RECTANGLE * [0.025, 1.0]
    assert margin_bound(SVC(C=1e6, kernel="linear", tol=1e-9).fit(near, SIDES), near) == 3.0


@pytest.mark.catalogue("LT-12")
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_the_squared_radius_over_the_squared_margin_and_falls_with_the_margin(seed):
    random = np.random.default_rng(seed)
    cloud = random.normal(size=(12, 2))
    bounds = []
    for gap in (8.0, 20.0, 60.0):
        X = cloud + gap * np.outer(np.arange(12) % 2, [0.6, 0.8])
        y = np.where(np.arange(12) % 2, 1, -1)
        # Half the smallest distance of the convex hulls is the margin; here by the dual, on a fine grid of directions.
        turns = np.linspace(0, np.pi, 20001)
        shadows = X @ np.array([np.cos(turns), np.sin(turns)])
        margin = (shadows[y > 0].min(axis=0) - shadows[y < 0].max(axis=0)).max() / 2
        model = SVC(C=1e8, kernel="linear", tol=1e-8).fit(X, y)
        # Columns of zeros change neither radius nor margin, so that the bound is that of any larger space.
        wide = np.column_stack([X, np.zeros((12, 30))])
        flat = SVC(C=1e8, kernel="linear", tol=1e-8).fit(wide, y)
        bounds.append(margin_bound(flat, wide, ceiling=False))
        assert bounds[-1] == pytest.approx(enclose(X) / margin**2 + 1, rel=1e-3)
        assert margin_bound(flat, wide) == np.ceil(enclose(X) / margin**2 * (1 - 1e-4)) + 1
        assert margin_bound(model, X) <= 3.0
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.catalogue("LT-12")
def test_a_kernel_object_has_the_dimension_of_its_name():
    near = RECTANGLE * [0.02, 1.0]
    for kernel in ("linear", Linear()):
        assert margin_bound(SVC(C=1e8, kernel=kernel, tol=1e-9).fit(near, SIDES), near) == 3.0
    # Products of up to two of two columns: 1, x, y, x^2, xy, y^2; without the constant only the last three.
    rows = np.random.default_rng(0).normal(size=(40, 2))
    inside = (rows**2).sum(axis=1) < 1
    for kernel, dimension in ((Polynomial(2, 1.0, 1.0), 6), (Polynomial(2, 1.0, 0.0), 3)):
        model = SVC(C=1e8, kernel=kernel, tol=1e-6, max_iter=200_000).fit(rows, inside)
        assert margin_bound(model, rows) == dimension + 1
    line = LinearSVC(C=1e6, loss="hinge", tol=1e-8, max_iter=100_000).fit(near, SIDES)
    assert margin_bound(line, near) == 3.0


@pytest.mark.catalogue("LT-12")
@pytest.mark.parametrize("gamma", [0.1, 0.5, 2.0])
def test_the_bound_of_a_gaussian_kernel_on_the_corners_of_a_square_is_in_closed_form(gamma):
    """By symmetry the centre is the mean, R^2 = 1 - mean K, and all coefficients are equal, |w|^2 = 4 / (1 - e)^2."""
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    model = SVC(C=1e8, gamma=gamma, tol=1e-9).fit(X, [-1, -1, 1, 1])
    e = np.exp(-gamma)
    radius, norm = 1 - (1 + 2 * e + e**2) / 4, 4 / (1 - e) ** 2
    assert margin_bound(model, X, ceiling=False) == pytest.approx(radius * norm + 1, rel=1e-3)


@pytest.mark.catalogue("LT-12")
@pytest.mark.parametrize(("kernel", "dimension"), [
    ("linear", 2), (kernels.Linear(), 2), (4.0 * kernels.Linear(), 2), (kernels.Linear() + kernels.Constant(1.0), 3),
    (kernels.Polynomial(2, 1.0, 1.0), 6), (kernels.Polynomial(2, 1.0, 0.0), 3), (kernels.RBF(0.3), np.inf),
], ids=repr)  # fmt: skip
def test_the_margin_bound_does_not_exceed_the_dimension_of_feature_space_plus_one(kernel, dimension):
    random = np.random.default_rng(0)
    X = np.r_[random.normal(0, 1, (40, 2)), random.normal(0.5, 1, (40, 2))]
    model = SVC(C=100.0, kernel=kernel).fit(X, np.repeat([0, 1], 40))
    bound = margin_bound(model, X)
    # Classes that overlap have a narrow margin: R^2 / rho^2 is some tens, and the dimension is the smaller number.
    assert bound <= dimension + 1
    assert bound > 20 if dimension == np.inf else bound >= 3
    assert count_dimensions(model._kernel, 2) == dimension
