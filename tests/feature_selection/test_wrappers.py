"""Selectors that fit an estimator: by definition, against scikit-learn's, and what ends them early."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import feature_selection as theirs
from sklearn.model_selection import KFold, cross_val_score

import mercer.feature_selection as ours
from mercer import save
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LinearRegression, Ridge
from mercer.naive_bayes import GaussianNB

NAMES = ["SelectFromModel", "RFE", "RFECV", "SequentialFeatureSelector"]


def draw(n=120, d=7, seed=0):
    """Rows whose columns 1, 4 and 5 decide the targets."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d))
    return rows, 3 * rows[:, 1] - 2 * rows[:, 4] + rows[:, 5] + 0.1 * random.normal(size=n)


def make(library, name, **options):
    return getattr(library, name)(Ridge(), **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_columns_are_those_of_scikit_learn_in_any_units(name, scale):
    rows, targets = draw()
    estimator = LinearRegression()
    peer, model = (getattr(library, name)(estimator).fit(rows * scale, targets) for library in (theirs, ours))
    np.testing.assert_array_equal(model.get_support(), peer.get_support())
    np.testing.assert_array_equal(model.transform(rows), peer.transform(rows))
    if "RFE" in name:
        np.testing.assert_array_equal(model.ranking_, peer.ranking_)
        np.testing.assert_allclose(model.predict(rows), peer.predict(rows))


@pytest.mark.parametrize("step", [1, 2, 0.5])
def test_elimination_drops_the_smallest_coefficients(step):
    rows, targets = draw()
    model = ours.RFE(Ridge(), n_features_to_select=2, step=step).fit(rows, targets)
    left, number = list(range(7)), int(max(1, step * 7)) if step < 1 else step
    while len(left) > 2:
        squares = Ridge().fit(rows[:, left], targets).coef_ ** 2
        dropped = np.argsort(squares, kind="stable")[: min(number, len(left) - 2)]
        left = [column for place, column in enumerate(left) if place not in dropped]
    assert model.get_support(indices=True).tolist() == left == [1, 4]
    assert model.history_["objective"][[0, -1]].tolist() == [7.0, 2.0]


def test_the_number_of_columns_has_the_best_score_over_the_folds():
    rows, targets = draw()
    folds = KFold(4, shuffle=True, random_state=1)
    model, peer = (make(library, "RFECV", cv=folds).fit(rows, targets) for library in (ours, theirs))
    assert model.cv_results_.keys() == peer.cv_results_.keys()
    for name, values in peer.cv_results_.items():
        np.testing.assert_allclose(model.cv_results_[name], values, rtol=1e-9, err_msg=name)
    assert model.n_features_ == model.cv_results_["n_features"][model.cv_results_["mean_test_score"].argmax()]
    assert model.score(rows, targets) == pytest.approx(peer.score(rows, targets), rel=1e-12)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_each_column_is_the_best_of_all_that_are_left(direction):
    rows, targets = draw()
    model = make(ours, "SequentialFeatureSelector", n_features_to_select=3, direction=direction, cv=3)
    model.fit(rows, targets)
    kept, forward = set() if direction == "forward" else set(range(7)), direction == "forward"
    for score in model.history_["objective"]:
        trials = [kept | {one} if forward else kept - {one} for one in range(7) if (one in kept) != forward]
        found = [cross_val_score(Ridge(), rows[:, sorted(one)], targets, cv=3).mean() for one in trials]
        kept = trials[int(np.argmax(found))]
        assert score == pytest.approx(max(found), rel=1e-9)
    assert set(model.get_support(indices=True)) == kept == {1, 4, 5}


def test_the_score_must_rise_by_tol():
    rows, targets = draw()
    model = make(ours, "SequentialFeatureSelector", tol=0.01, cv=3).fit(rows, targets)
    assert model.get_support(indices=True).tolist() == [1, 4, 5]
    assert model.n_features_to_select_ == 3


def test_thresholds_are_numbers_means_and_multiples():
    rows, targets = draw()
    sizes = np.abs(Ridge().fit(rows, targets).coef_)
    wanted = {"mean": sizes.mean(), "0.5*median": np.median(sizes) / 2, None: sizes.mean(), 1.5: 1.5}
    for threshold, number in wanted.items():
        model = make(ours, "SelectFromModel", threshold=threshold).fit(rows, targets)
        assert model.threshold_ == pytest.approx(number)
        np.testing.assert_array_equal(model.get_support(), sizes >= number)
    best = make(ours, "SelectFromModel", threshold=-np.inf, max_features=2).fit(rows, targets)
    assert best.get_support(indices=True).tolist() == [1, 4]


@pytest.mark.parametrize("name", NAMES)
def test_threads_sparse_rows_and_saving_change_nothing(name, tmp_path):
    import mercer

    rows, targets = draw()
    model = make(ours, name, n_jobs=1).fit(rows, targets)
    for other in (
        make(ours, name, n_jobs=4).fit(rows, targets),
        make(ours, name).fit(csr_array(rows), targets),
    ):
        np.testing.assert_array_equal(other.get_support(), model.get_support())
    save(model, tmp_path / "selector.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "selector.mercer").transform(rows), model.transform(rows))


@pytest.mark.parametrize("name", ["RFE", "SequentialFeatureSelector"])
def test_a_fit_that_time_ends_keeps_the_columns_so_far(name):
    rows, targets = draw()
    with pytest.warns(UserWarning, match="raise max_time"):
        model = make(ours, name, max_time=0.0).fit(rows, targets)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.transform(rows).shape[1] == (7 if name == "RFE" else 1)


def test_weights_reach_the_folds():
    import sklearn

    rows, targets = draw()
    weights = np.random.default_rng(2).integers(1, 4, len(rows)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        pairs = [
            [library.SequentialFeatureSelector(estimator, cv=3, n_features_to_select=2) for library in (ours, theirs)],
            [library.RFE(estimator, n_features_to_select=2) for library in (ours, theirs)],
        ]
        for model, peer in pairs:
            found, wanted = (one.fit(rows, targets, sample_weight=weights) for one in (model, peer))
            np.testing.assert_array_equal(found.get_support(), wanted.get_support())
    coefficients = Ridge().fit(rows[:, pairs[1][0].support_], targets, sample_weight=weights).coef_
    np.testing.assert_allclose(pairs[1][0].estimator_.coef_, coefficients)


def test_classes_are_told_apart_by_the_columns_that_are_kept():
    rows, targets = draw()
    labels = np.where(targets > 0, "high", "low")
    model = ours.SequentialFeatureSelector(GaussianNB(), n_features_to_select=2, cv=3).fit(rows, labels)
    scores = {
        pair: cross_val_score(GaussianNB(), rows[:, pair], labels, cv=3).mean()
        for pair in itertools.combinations(range(7), 2)
    }
    first = int(np.argmax([cross_val_score(GaussianNB(), rows[:, [one]], labels, cv=3).mean() for one in range(7)]))
    best = max(scores[tuple(sorted((first, other)))] for other in range(7) if other != first)
    assert scores[tuple(model.get_support(indices=True))] == pytest.approx(best)


def test_what_cannot_be_selected_is_said():
    rows, targets = draw()
    with pytest.raises(DataError, match="RFE: requires y"):
        make(ours, "RFE").fit(rows, None)
    with pytest.raises(ParameterError, match="Expected threshold='mean'"):
        make(ours, "SelectFromModel", threshold="1.5*most").fit(rows, targets).get_support()
    with pytest.raises(DataError, match="n_features_to_select must be < n_features"):
        make(ours, "SequentialFeatureSelector", n_features_to_select=7).fit(rows, targets)
    with pytest.raises(ParameterError, match="tol must be strictly positive"):
        make(ours, "SequentialFeatureSelector", tol=-1.0).fit(rows, targets)
    with pytest.raises(ParameterError, match="importance_getter"):
        ours.RFE(GaussianNB()).fit(rows, targets > 0)
    with pytest.warns(UserWarning, match="n_features_to_select=9 > n_features=7"):
        make(ours, "RFE", n_features_to_select=9).fit(rows, targets)
