"""Surrogate trees, prototypes and counterfactuals: what they promise holds for every answer."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from mercer.errors import DataError, ParameterError
from mercer.explain import find_counterfactuals, find_prototypes, surrogate_tree
from mercer.kernels import RBF

pandas = pytest.importorskip("pandas")


def make_rows(n=300):
    random = np.random.default_rng(0)
    X = random.uniform(0, 10, size=(n, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 10, "yes", "no")


def test_a_surrogate_of_a_tree_is_faithful_and_one_of_noise_is_not():
    X, _ = make_rows()
    assert surrogate_tree(lambda rows: np.where(rows[:, 0] > 5, 1.0, 0.0), X, random_state=0).fidelity > 0.9
    noise = np.random.default_rng(1).normal(size=len(X))
    lookup = {row.tobytes(): value for row, value in zip(X, noise)}
    assert (
        surrogate_tree(lambda rows: np.array([lookup[row.tobytes()] for row in rows]), X, random_state=0).fidelity < 0.2
    )


def test_a_surrogate_of_a_classifier_answers_labels():
    X, y = make_rows()
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    found = surrogate_tree(model, X, max_depth=4, random_state=0)
    assert set(found.tree.classes_) == {"no", "yes"}
    assert found.fidelity > 0.8


def test_prototypes_are_the_greedy_choice_by_the_discrepancy():
    X = np.random.default_rng(0).normal(size=(25, 2))
    kernel = RBF(1.5)
    found = find_prototypes(X, 3, 2, kernel=kernel)
    gram, chosen = kernel(X, X), []

    def measure(rows):
        return gram.mean() - 2 * gram[:, rows].mean() + gram[np.ix_(rows, rows)].mean()

    for step in range(3):
        tried = [measure([*chosen, row]) if row not in chosen else np.inf for row in range(25)]
        chosen.append(int(np.argmin(tried)))
        assert found.discrepancies[step] == pytest.approx(measure(chosen), abs=1e-12)
    assert found.prototypes.tolist() == chosen
    assert not set(found.criticisms) & set(chosen)


def test_too_many_prototypes_are_refused():
    with pytest.raises(ParameterError, match="at most 4 rows together; got 3 and 2"):
        find_prototypes(np.zeros((4, 1)), 3, 2)


def test_counterfactuals_keep_all_rules_and_have_the_wanted_answer():
    X, y = make_rows()
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    row = np.array([2.0, 3.0, 5.0])
    assert model.predict(row[None])[0] == "no"
    found = find_counterfactuals(model, row, X, "yes", fixed=["x2"], ranges={0: (0.0, 6.0)}, directions={"x1": 1})
    assert (model.predict(found.rows) == "yes").all()
    assert (found.rows[:, 2] == 5.0).all()
    assert (found.rows[:, 0] <= 6.0).all()
    assert (found.rows[:, 1] >= 3.0).all()
    assert (np.diff(found.distances) >= 0).all()
    assert "yes: " in str(found)


def test_no_single_change_of_a_counterfactual_can_be_taken_back():
    X, _ = make_rows()
    found = find_counterfactuals(lambda rows: rows[:, 0] + 2 * rows[:, 1], [1.0, 1.0, 1.0], X, (12.0, 20.0))
    for row, change in zip(found.rows, found.changes):
        for j in np.flatnonzero(change):
            back = row.copy()
            back[j] -= change[j]
            assert not 12.0 <= back[0] + 2 * back[1] <= 20.0


def test_frames_reach_the_model_as_frames():
    X, y = make_rows()
    frame = pandas.DataFrame(X, columns=list("abc"))
    model = RandomForestClassifier(5, random_state=0).fit(frame, y)
    found = find_counterfactuals(model, frame.iloc[int(np.argmax(y == "no"))], frame, "yes", fixed=["c"])
    assert found.names == ["a", "b", "c"]


def test_impossible_wishes_are_refused():
    X, y = make_rows()
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="no row of X has the wanted answer within the limits"):
        find_counterfactuals(model, X[0], X, "perhaps")
    with pytest.raises(ParameterError, match="the rules for 'x0' leave no value"):
        find_counterfactuals(model, np.full(3, 5.0), X, "yes", ranges={0: (0.0, 1.0)}, fixed=[0][:0], directions={0: 1})
    with pytest.raises(ParameterError, match="a direction must be 1 or -1; got 2"):
        find_counterfactuals(model, X[0], X, "yes", directions={0: 2})
