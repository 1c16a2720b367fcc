"""Multiway trees: the hiking table to the last digit, gain ratios, missing values, unseen categories."""

import numpy as np
import pandas
import pytest

from mercer.datasets import load_hiking
from mercer.errors import DataError, ParameterError
from mercer.tree import MultiwayTreeClassifier
from mercer.tree._multiway_gains import compute_impurities

NAMES = ["outlook", "temperature", "humidity", "wind"]


@pytest.fixture
def days():
    return load_hiking(as_frame=True)


@pytest.mark.catalogue("TE-04")
def test_the_table_has_nine_days_of_hiking_and_its_entropy(days):
    assert days.data.shape == (14, 4)
    counts = np.array([(days.target == "yes").sum(), (days.target == "no").sum()])
    assert counts.tolist() == [9, 5]
    assert compute_impurities(counts, "entropy") == pytest.approx(0.940286, abs=5e-7)
    assert compute_impurities(counts, "entropy") * np.log(2) == pytest.approx(0.651757, abs=5e-7)
    assert compute_impurities(counts, "gini") == pytest.approx(0.459184, abs=5e-7)
    for outlook, entropy in {"sunny": 0.970951, "rain": 0.970951, "overcast": 0.0}.items():
        inside = days.target[days.data.outlook == outlook]
        found = compute_impurities([(inside == "yes").sum(), (inside == "no").sum()], "entropy")
        assert found == pytest.approx(entropy, abs=5e-7)


@pytest.mark.catalogue("TE-04")
@pytest.mark.parametrize(
    ("criterion", "gains", "below"),
    [
        ("entropy", [0.246750, 0.029223, 0.151836, 0.048127], 0.970951),
        ("gini", [0.116327, 0.018707, 0.091837, 0.030612], 0.48),
    ],
)
def test_gains_of_the_root_and_of_the_second_level(days, criterion, gains, below):
    tree = MultiwayTreeClassifier(criterion=criterion).fit(days.data, days.target).tree_
    np.testing.assert_allclose(tree.gains[0], gains, atol=5e-7)
    assert NAMES[tree.feature[0]] == "outlook"
    categories = ["overcast", "rain", "sunny"]
    second = {
        categories[tree.branch[node]]: (NAMES[tree.feature[node]], tree.gains[node, tree.feature[node]])
        for node in np.flatnonzero((tree.parent == 0) & (tree.feature >= 0))
    }
    assert second["sunny"] == ("humidity", pytest.approx(below, abs=5e-7))
    assert second["rain"] == ("wind", pytest.approx(below, abs=5e-7))


@pytest.mark.catalogue("TE-04")
def test_the_final_tree_has_three_inner_nodes_five_leaves_and_no_error(days):
    model = MultiwayTreeClassifier().fit(days.data, days.target)
    assert (model.tree_.node_count - model.tree_.n_leaves, model.tree_.n_leaves) == (3, 5)
    assert model.score(days.data, days.target) == 1.0
    assert model.get_depth() == 2


@pytest.mark.catalogue("TE-04")
@pytest.mark.parametrize(("criterion", "gain"), [("entropy", 0.226000), ("gini", 0.102041)])
def test_the_best_split_of_one_category_from_the_rest_is_overcast(days, criterion, gain):
    single = pandas.get_dummies(days.data).astype(float)
    gains = MultiwayTreeClassifier(criterion=criterion).fit(single, days.target).tree_.gains[0]
    assert single.columns[int(np.nanargmax(gains))] == "outlook_overcast"
    assert np.nanmax(gains) == pytest.approx(gain, abs=5e-7)


@pytest.mark.catalogue("TE-03")
def test_consistent_rows_are_classified_perfectly_even_where_no_split_gains_at_once():
    X = pandas.DataFrame({"a": list("ppqq"), "b": list("rsrs")})
    y = [0, 1, 1, 0]
    model = MultiwayTreeClassifier().fit(X, y)
    assert model.tree_.gains[0].tolist() == [0.0, 0.0]
    assert model.tree_.feature[0] == 0
    assert model.score(X, y) == 1.0
    random = np.random.default_rng(0)
    numbers = random.normal(size=(80, 3))
    labels = random.integers(0, 4, 80)
    assert MultiwayTreeClassifier().fit(numbers, labels).score(numbers, labels) == 1.0


@pytest.mark.catalogue("TE-03")
def test_limits_are_kept_and_depth_zero_is_the_majority(days):
    majority = MultiwayTreeClassifier(max_depth=0).fit(days.data, days.target)
    assert set(majority.predict(days.data)) == {"yes"}
    random = np.random.default_rng(1)
    X, y = random.normal(size=(200, 3)), random.integers(0, 2, 200)
    model = MultiwayTreeClassifier(max_depth=4, min_samples_leaf=7, min_samples_split=30).fit(X, y)
    assert model.get_depth() <= 4
    sizes = model.tree_.weights.sum(axis=1)
    assert sizes[model.tree_.feature < 0].min() >= 7
    assert sizes[model.tree_.feature >= 0].min() >= 30
    assert MultiwayTreeClassifier(min_gain=1.0).fit(X, y).get_n_leaves() == 1


def test_the_gain_ratio_passes_over_a_column_that_names_each_row(days):
    frame = days.data.assign(day=[f"day {i}" for i in range(14)])
    by_gain = MultiwayTreeClassifier().fit(frame, days.target)
    by_ratio = MultiwayTreeClassifier(gain_ratio=True).fit(frame.drop(columns="day"), days.target)
    assert frame.columns[by_gain.tree_.feature[0]] == "day"
    assert by_gain.tree_.gains[0, 4] == pytest.approx(0.940286, abs=5e-7)
    assert NAMES[by_ratio.tree_.feature[0]] == "outlook"


def test_missing_values_have_a_branch_or_go_down_all_of_them(days):
    frame = days.data.copy()
    frame.loc[[0, 3], "outlook"] = None
    branch = MultiwayTreeClassifier().fit(frame, days.target)
    assert -1 in branch.tree_.branch[branch.tree_.parent == 0]
    assert branch.score(frame, days.target) == 1.0
    shared = MultiwayTreeClassifier(missing="fractional").fit(frame, days.target)
    assert shared.tree_.weights[shared.tree_.parent == 0].sum() == pytest.approx(14.0)
    np.testing.assert_allclose(shared.predict_proba(frame).sum(axis=1), 1.0)
    known = 12 / 14
    entropy = compute_impurities(
        [[(days.target[frame.outlook.notna()] == one).sum() for one in ("no", "yes")]], "entropy"
    )[0]
    assert shared.tree_.gains[0, 0] < known * entropy


def test_an_unseen_category_goes_down_all_branches_by_their_weights(days):
    model = MultiwayTreeClassifier(max_depth=1).fit(days.data, days.target)
    found = model.predict_proba(days.data.assign(outlook="fog"))
    np.testing.assert_allclose(found, np.tile([5 / 14, 9 / 14], (14, 1)))


def test_frames_of_all_kinds_and_named_columns_give_the_same_tree(days):
    polars = pytest.importorskip("polars")
    expected = MultiwayTreeClassifier().fit(days.data, days.target).tree_
    given = [
        (days.data.astype("category"), "from_dtype"),
        (polars.DataFrame(load_hiking().data.tolist(), schema=NAMES, orient="row"), "from_dtype"),
        (load_hiking().data, [0, 1, 2, 3]),
        (days.data, NAMES),
        (days.data, [True] * 4),
    ]
    for frame, columns in given:
        model = MultiwayTreeClassifier(categorical_features=columns).fit(frame, days.target)
        np.testing.assert_array_equal(model.tree_.weights, expected.weights)
        assert model.score(frame, days.target) == 1.0


def test_weights_are_repetitions(days):
    weight = np.arange(14) % 3
    weighted = MultiwayTreeClassifier().fit(days.data, days.target, sample_weight=weight)
    repeated = MultiwayTreeClassifier().fit(days.data.loc[days.data.index.repeat(weight)], days.target.repeat(weight))
    np.testing.assert_allclose(weighted.tree_.weights, repeated.tree_.weights)


def test_words_in_an_array_are_refused_with_the_cure(days):
    with pytest.raises(ValueError, match="could not convert string to float"):
        MultiwayTreeClassifier().fit(load_hiking().data, days.target)
    with pytest.raises(ParameterError) as caught:
        MultiwayTreeClassifier(categorical_features=["height"]).fit(days.data, days.target)
    assert str(caught.value) == (
        "MultiwayTreeClassifier: categorical_features must name columns of X; got 'height' for 4 columns."
    )
    with pytest.raises(DataError, match="got NaN only"):
        MultiwayTreeClassifier().fit(np.full((3, 1), np.nan), [0, 1, 0])
