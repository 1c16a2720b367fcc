"""The classifier: against Bayes' rule on the joint table, naive Bayes, and gaps summed out."""

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import mercer
from mercer.bayesnet import BayesNetClassifier
from mercer.errors import DataError
from mercer.naive_bayes import CategoricalNB

X, Y = load_iris(return_X_y=True)
STRUCTURES = ["naive", "tree", "augmented", "hill_climb"]


def bins(model, rows):
    return np.column_stack([np.searchsorted(part.edges, rows[:, j]) for j, part in enumerate(model.coding_.columns)])


def test_the_naive_structure_is_categorical_naive_bayes():
    model = BayesNetClassifier("naive", prior=1.0).fit(X, Y)
    codes = bins(model, X)
    sizes = model.coding_.sizes
    other = CategoricalNB(min_categories=sizes).fit(codes.astype(float), Y)
    # CategoricalNB does not smooth the classes; here every table has its prior counts, and classes are of equal size.
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(codes.astype(float)), atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_posteriors_are_bayes_rule_on_the_network(structure):
    model = BayesNetClassifier(structure, n_bins=3).fit(X, Y)
    network, codes = model.network_, bins(model, X[::10])
    names = list(network.variables)
    for row, given in zip(model.predict_proba(X[::10]), codes, strict=True):
        evidence = {name: network.variables[name][code] for name, code in zip(names, given, strict=False)}
        np.testing.assert_allclose(row, network.query(names[-1], evidence).array, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_missing_values_are_summed_out(structure):
    model = BayesNetClassifier(structure, n_bins=3).fit(X, Y)
    rows = X[::12].copy()
    random = np.random.default_rng(0)
    rows[random.random(rows.shape) < 0.4] = np.nan
    rows[0] = np.nan
    network = model.network_
    names = list(network.variables)
    codes = model.coding_.code_numbers(rows)
    for row, posterior, given in zip(rows, model.predict_proba(rows), codes, strict=True):
        evidence = {
            name: network.variables[name][code]
            for name, code, value in zip(names, given, row, strict=False)
            if not np.isnan(value)
        }
        np.testing.assert_allclose(posterior, network.query(names[-1], evidence).array, atol=1e-12)


def test_the_tree_has_the_largest_information_and_beats_naive_bayes_where_columns_depend():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 2000)
    a = random.integers(0, 2, 2000)
    # The class is the parity of two columns, which independence within classes cannot see.
    rows = np.column_stack([a, a ^ y ^ (random.random(2000) < 0.1), random.integers(0, 2, 2000)]).astype(float)
    naive, tree = (BayesNetClassifier(structure).fit(rows, y).score(rows, y) for structure in ("naive", "tree"))
    # A sum over the columns can agree with the parity in three of the four cells: 0.7, and 0.5 without luck.
    assert naive < 0.75
    assert tree > 0.85


def test_hill_climbing_finds_the_markov_blanket():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 3000)
    a = y ^ (random.random(3000) < 0.2)
    b = a ^ (random.random(3000) < 0.05)
    rows = pandas.DataFrame({"a": a, "b": b, "noise": random.integers(0, 3, 3000)})
    model = BayesNetClassifier("hill_climb").fit(rows, y)
    assert model.blanket_ == ["a"]


def test_texts_numbers_and_labels_of_any_kind():
    frame = pandas.DataFrame({"sky": ["clear", "grey", None, "clear"] * 5, "degrees": [21.0, 12.0, np.nan, 25.0] * 5})
    labels = ["dry", "wet", "wet", "dry"] * 5
    model = BayesNetClassifier().fit(frame, labels)
    # A row without any value has the shares of the classes.
    assert model.predict(frame)[[0, 1, 3]].tolist() == ["dry", "wet", "dry"]
    np.testing.assert_allclose(model.predict_proba(frame)[2], [0.5, 0.5])
    assert model.classes_.tolist() == ["dry", "wet"]
    assert model.coding_.columns[0].states == ["clear", "grey"]


def test_unknown_states_are_refused_or_missing():
    frame = pandas.DataFrame({"sky": ["clear", "grey"] * 5})
    labels = ["dry", "wet"] * 5
    new = pandas.DataFrame({"sky": ["pink"]})
    with pytest.raises(DataError, match=r"column 'sky' must hold one of its states 'clear', 'grey'; got 'pink'"):
        BayesNetClassifier().fit(frame, labels).predict(new)
    lenient = BayesNetClassifier(unknown="missing").fit(frame, labels)
    np.testing.assert_allclose(lenient.predict_proba(new), [[0.5, 0.5]])


def test_bins_have_equal_weights_and_few_values_a_bin_each():
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=1000), random.integers(0, 3, 1000), np.ones(1000)])
    model = BayesNetClassifier(n_bins=4).fit(rows, random.integers(0, 2, 1000))
    codes = bins(model, rows)
    assert np.bincount(codes[:, 0]).tolist() == [250] * 4
    assert model.coding_.columns[1].edges.tolist() == [0.5, 1.5]
    assert model.coding_.columns[2].states == ["any"]


def test_weights_are_repetitions_for_bins_and_tables():
    weights = np.random.default_rng(0).integers(0, 3, len(Y))
    weighted = BayesNetClassifier().fit(X, Y, sample_weight=weights)
    repeated = BayesNetClassifier().fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_it_learns_a_real_table_and_is_saved(tmp_path):
    rows, labels = load_breast_cancer(return_X_y=True)
    model = BayesNetClassifier().fit(rows[::2], labels[::2])
    assert model.score(rows[1::2], labels[1::2]) > 0.93
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_proba(rows), model.predict_proba(rows))


def test_gaps_in_the_fit_leave_rows_out_of_their_families_only():
    rows = X.copy()
    rows[::4, 0] = np.nan
    model = BayesNetClassifier("naive", prior=0.0).fit(rows, Y)
    kept = ~np.isnan(rows[:, 0])
    codes = bins(model, X)
    table = np.array([[np.mean(codes[kept & (k == Y), 0] == s) for s in range(5)] for k in range(3)])
    np.testing.assert_allclose(model.tables_[0], table)
    np.testing.assert_allclose(model.tables_[-1], np.full(3, 1 / 3))


def test_bad_input_is_refused_with_a_cure():
    with pytest.raises(DataError, match=r"column 'a' must have at most 254 states; got 300"):
        BayesNetClassifier().fit(pandas.DataFrame({"a": [f"s{i}" for i in range(300)]}), np.arange(300) % 2)
    with pytest.raises(DataError, match=r"y must have at most 254 classes; got 300. Join rare ones"):
        BayesNetClassifier().fit(np.zeros((900, 1)), [f"c{i % 300}" for i in range(900)])
    with pytest.raises(DataError, match=r"infinity in column 'x0'. Mark missing values by NaN"):
        BayesNetClassifier().fit([[np.inf], [1.0]], [0, 1])
