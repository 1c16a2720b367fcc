"""Several classes, probabilities, kernels in every form, margins and paths."""

import warnings
from itertools import combinations

import numpy as np
import pytest
import sklearn.svm
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from mercer import kernels
from mercer.cluster import KernelKMeans
from mercer.kernels import RBF, Linear
from mercer.svm import SVC, LinearSVC, NuSVC, _scores, fit_path, margin_width
from mercer.svm._class_machines import count_votes


def gaussian(X, Y, gamma):
    return rbf_kernel(X, Y, gamma=gamma)


@pytest.fixture(scope="module")
def two_classes():
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
    return X, np.where(y > 0, 1.0, -1.0)


@pytest.mark.catalogue("MS-11")
def test_one_against_the_rest_is_a_binary_machine_for_each_class():
    X, y = load_iris(return_X_y=True)
    model = SVC(multi_class="ovr", tol=1e-8).fit(X, y)
    scores = model.decision_function(X)
    for k in range(3):
        alone = SVC(tol=1e-8).fit(X, y == k)
        np.testing.assert_allclose(scores[:, k], alone.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))


@pytest.mark.parametrize("long", [8192, 100])
@pytest.mark.parametrize("options", [{}, {"multi_class": "ovr"}, {"kernel": "linear"}], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 7])
def test_one_row_has_the_scores_and_the_class_that_it_has_among_many(n_classes, options, long, monkeypatch):
    monkeypatch.setattr(_scores, "_LONG", long)
    X, y = make_classification(
        500, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.2, n_clusters_per_class=1, random_state=0
    )
    model = SVC(decision_function_shape="ovo", **options).fit(X, y)
    scores, labels = model.decision_function(X), model.predict(X)
    for one in (0, 1, 77):
        for row in (X[one : one + 1], csr_array(X[one : one + 1])):
            np.testing.assert_allclose(model.decision_function(row)[0], scores[one], rtol=1e-10, atol=1e-10)
            assert model.predict(row)[0] == labels[one]


def test_votes_are_those_of_all_pairs():
    scores = np.random.default_rng(0).normal(size=(20, 15))
    scores[0] = 0.0
    expected = np.zeros((20, 6), dtype=int)
    for k, (i, j) in enumerate(combinations(range(6), 2)):
        for row in range(20):
            expected[row, i if scores[row, k] > 0 else j] += 1
    np.testing.assert_array_equal(count_votes(scores, 6), expected)


@pytest.mark.catalogue("KM-08")
def test_wider_margins_cost_violations(two_classes):
    X, y = two_classes
    models = fit_path(SVC(kernel="linear"), X, y, [0.01, 1.0, 100.0])
    widths = [margin_width(one) for one in models]
    assert widths[0] > widths[1] > widths[2]
    cold = SVC(kernel="linear", C=1.0, tol=1e-3).fit(X, y)
    assert models[1].history_["objective"][-1] == pytest.approx(cold.history_["objective"][-1], rel=1e-4)


def test_a_linear_kernel_as_an_object_is_the_linear_kernel(two_classes):
    X, y = two_classes
    named, given = SVC(kernel="linear").fit(X, y), SVC(kernel=kernels.Linear()).fit(X, y)
    np.testing.assert_array_equal(given.coef_, named.coef_)
    assert not hasattr(SVC(kernel=kernels.Cosine()).fit(X, y), "coef_")
    clusters = [KernelKMeans(2, kernel=kernel, random_state=0).fit(X) for kernel in ("linear", kernels.Linear())]
    np.testing.assert_array_equal(clusters[0].labels_, clusters[1].labels_)
    assert clusters[0].inertia_ == clusters[1].inertia_


def test_probabilities_agree_with_decisions_and_are_calibrated(two_classes):
    X, y = two_classes
    model = SVC(probability=True).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))
    X, y = load_iris(return_X_y=True)
    for scheme in ("ovo", "ovr"):
        model = SVC(probability=True, multi_class=scheme).fit(X, y)
        found = model.predict_proba(X)
        np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))
        assert -np.log(found[np.arange(len(y)), y]).mean() < 0.15


def test_nu_bounds_the_shares_of_errors_and_support_vectors(two_classes):
    X, y = two_classes
    model = NuSVC(nu=0.4, tol=1e-7).fit(X, y)
    assert np.mean(y * model.decision_function(X) < 1 - 1e-5) <= 0.4
    assert model.n_support_.sum() >= 0.4 * len(X)
    theirs = sklearn.svm.NuSVC(nu=0.4, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_kernels_are_one_by_name_object_function_and_values(two_classes):
    X, y = two_classes
    expected = SVC(gamma=0.3, tol=1e-8).fit(X, y).decision_function(X)
    for kernel in (RBF(gamma=0.3), lambda A, B: gaussian(A, B, 0.3)):
        np.testing.assert_allclose(SVC(kernel=kernel, tol=1e-8).fit(X, y).decision_function(X), expected, atol=1e-6)
    K = gaussian(X, X, 0.3)
    np.testing.assert_allclose(SVC(kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K), expected, atol=1e-6)
    linear = SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(X @ linear.coef_[0] + linear.intercept_, linear.decision_function(X), atol=1e-9)
    assert SVC(kernel=Linear(), tol=1e-8).fit(X, y).score(X, y) == linear.score(X, y)


@pytest.mark.catalogue("MS-11")
def test_the_joint_machine_solves_all_classes_at_once():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    C, tol = 0.3, 1e-5
    model = SVC(kernel="linear", multi_class="joint", C=C, tol=tol).fit(X, y)
    rows = np.arange(len(X))
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T, atol=1e-9)

    def primal(W):
        ahead = 1.0 + X @ W.T - (X @ W.T)[rows, y][:, None]
        ahead[rows, y] = 0.0
        return 0.5 * np.sum(W**2) + C * ahead.max(axis=1).sum()

    # The certificate is the gap, and a descent from here finds nothing lower than it allows.
    assert primal(model.coef_) + model.history_["objective"][-1] == pytest.approx(model.certificate_.value, abs=1e-8)
    lower = minimize(
        lambda w: primal(w.reshape(3, 4)), model.coef_.ravel(), method="Powell", options={"maxiter": 5}
    ).fun
    assert primal(model.coef_) - lower <= model.certificate_.value + 1e-9
    linear = LinearSVC(multi_class="crammer_singer", fit_intercept=False, C=C, tol=tol).fit(X, y)
    np.testing.assert_allclose(linear.coef_, model.coef_, atol=1e-3)


@pytest.mark.catalogue("MS-11")
def test_the_joint_machine_of_two_classes_is_a_binary_one_without_intercept(two_classes):
    X, y = two_classes
    model = SVC(kernel="linear", multi_class="joint", C=0.5, tol=1e-7).fit(X, y)
    theirs = sklearn.svm.LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-7, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-3)
    assert model.coef_.shape == (1, 5)


def meet(X, y, nu):
    """Return whether the reduced hulls of two classes meet, by a linear program over the weights of their rows."""
    n = len(y)
    sides = np.where(y > 0, 1.0, -1.0)
    equal = np.vstack([X.T * sides, (y > 0).astype(float), (y <= 0).astype(float)])
    half = nu / 2
    ends = np.append(np.zeros(X.shape[1]), [half, half])
    return linprog(np.zeros(n), A_eq=equal, b_eq=ends, bounds=(0.0, 1.0 / n)).status == 0


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_the_optimum_of_nu_svc_is_zero_exactly_where_the_reduced_hulls_of_the_classes_meet(tol, unit):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X[y == 1] += 1.0
    truth = [meet(X, y, nu) for nu in (0.3, 0.5, 0.6, 0.7, 0.8, 0.95)]
    assert set(truth) == {True, False}
    scores = []
    for nu, flat in zip((0.3, 0.5, 0.6, 0.7, 0.8, 0.95), truth, strict=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = NuSVC(nu=nu, kernel="linear", tol=tol).fit(unit * X, y)
        said = [str(one.message) for one in caught if "overlap" in str(one.message)]
        assert model.converged_
        if flat:
            assert said == [
                f"NuSVC: nu={nu!r} leaves no margin, since the classes 0 and 1 overlap: the optimum is w = 0 and all "
                f"their scores are zero. Lower nu, or use SVC."
            ]
            np.testing.assert_array_equal(model.decision_function(unit * X), 0.0)
            assert model.n_support_.tolist() == [0, 0]
            continue
        assert said == []
        # The margin is not within a tolerance of zero: the primal value is that of a general solver.
        exact = NuSVC(nu=nu, kernel="linear", tol=1e-12).fit(X, y)
        np.testing.assert_allclose(unit * model.coef_, exact.coef_, atol=0.15 * np.linalg.norm(exact.coef_))
        scores.append(model.score(unit * X, y))
    assert min(scores) > 0.6


def test_only_the_pairs_that_overlap_have_no_machine():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), np.repeat(["far", "near", "same"], 30)
    X[y == "far"] += 9.0
    # The reduced convex hulls of 30 rows of the same density meet; only with nu near 1 do they shrink to their means.
    with pytest.warns(UserWarning, match="leaves no margin, since the classes near and same overlap"):
        model = NuSVC(nu=0.3, kernel="linear", decision_function_shape="ovo").fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores[:, 2], 0.0)
    assert (model.predict(X[y == "far"]) == "far").all()
    assert (model.predict(X[y != "far"]) != "far").mean() > 0.95
