"""Decisions at their edges: stacks of tables, ends of ranges, and bounds written out by hand."""

import numpy as np
import pytest
from sklearn.utils import get_tags

from mercer.decision import (
    ClassDensities,
    DecisionClassifier,
    add_reject,
    bayes_decision,
    chernoff_bound,
    conditional_error,
    correct_priors,
    discriminant_functions,
    neighbor_bounds,
    optimal_action,
    posterior,
    prior_bounds,
)
from mercer.errors import DataError
from mercer.estimation import GaussianDensity
from mercer.svm import SVC

STACK = np.random.default_rng(21).dirichlet(np.ones(3), (4, 5))


def test_posteriors_of_a_stack_of_rows_are_those_of_each():
    priors = np.array([0.5, 0.2, 0.3])
    shares, evidence = posterior(STACK, priors, return_evidence=True)
    joint = STACK * priors
    np.testing.assert_allclose(shares, joint / joint.sum(axis=-1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(np.exp(evidence) if (evidence < 0).any() else evidence, joint.sum(axis=-1), rtol=1e-12)


def test_errors_and_rejection_costs_of_a_stack_are_those_of_each():
    random = np.random.default_rng(22)
    np.testing.assert_allclose(conditional_error(STACK), 1 - STACK.max(axis=-1), rtol=1e-12)
    chosen = random.integers(0, 3, (4, 5))
    by_hand = [[1 - STACK[i, j, chosen[i, j]] for j in range(5)] for i in range(4)]
    np.testing.assert_allclose(conditional_error(STACK, chosen), by_hand, rtol=1e-12)
    for wrong in (-1, 3):
        chosen[2, 2] = wrong
        with pytest.raises(DataError):
            conditional_error(STACK, chosen)
    costs = random.uniform(size=(6, 2, 3))
    extended = add_reject(costs, 0.25)
    assert extended.shape == (6, 3, 3)
    np.testing.assert_array_equal(extended[:, :2], costs)
    assert (extended[:, 2] == 0.25).all()


def test_corrected_priors_name_the_row_that_they_make_impossible():
    shares = np.array([[0.5, 0.5], [0.2, 0.8], [0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(DataError, match="row 2 is certain of a class that new makes impossible"):
        correct_priors(shares, [0.5, 0.5], [1.0, 0.0])


def test_chernoff_bound_at_its_ends_is_a_prior():
    one, two = GaussianDensity(0.0, 1.0), GaussianDensity(1.0, 2.0)
    # P1^s P2^(1 - s) times the overlap, which is one where s is 0 or 1.
    np.testing.assert_allclose(chernoff_bound(one, two, (0.3, 0.7), exponent=1), 0.3, rtol=1e-9)
    np.testing.assert_allclose(chernoff_bound(one, two, (0.3, 0.7), exponent=0), 0.7, rtol=1e-9)
    assert chernoff_bound(one, two, (1.0, 0.0)) == 0.0
    with pytest.raises(ValueError, match="exponent"):
        chernoff_bound(one, two, exponent=1.5)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_neighbor_bounds_equal_the_formulas_of_cover_and_hart(n_classes):
    random = np.random.default_rng(22)
    centres = 3.0 * random.normal(size=(n_classes, 2))
    y = np.arange(60) % n_classes
    X = centres[y] + random.normal(size=(60, 2))
    gaps = np.square(X[:, None] - X).sum(axis=2) + np.diag(np.full(60, np.inf))
    error, c = float(np.mean(y != y[gaps.argmin(axis=1)])), n_classes
    bounds = neighbor_bounds(X, y)
    assert bounds.neighbor_error == error
    np.testing.assert_allclose(bounds.lower, (c - 1) / c * (1 - np.sqrt(max(0, 1 - c / (c - 1) * error))), rtol=1e-12)
    np.testing.assert_allclose(bounds.standard_error, np.sqrt(error * (1 - error) / 60), rtol=1e-12)
    assert bounds.upper == min(error, (c - 1) / c)


def test_errors_above_guessing_are_cut_at_guessing():
    # Alternating labels on a line: every nearest neighbour is of the other class.
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    bounds = neighbor_bounds(X, y)
    assert (bounds.neighbor_error, bounds.lower, bounds.upper) == (1.0, 0.5, 0.5)


def test_the_cost_of_a_label_that_fit_did_not_see_is_not_guessed():
    X, y = np.random.default_rng(22).normal(size=(40, 2)), np.repeat(["b", "d"], 20)
    model = DecisionClassifier(costs=[[0.0, 1.0], [1.0, 0.0]]).fit(X, y)
    for label in "ace":
        with pytest.raises(DataError, match=f"the cost of class '{label}' is not known"):
            model.score(X[:2], np.array(["b", label]))
    action = optimal_action(model.predict_proba(X), model.costs).action
    assert model.predict(X).tolist() == model.classes_[action].tolist()


def test_class_densities_decide_for_the_larger_joint_density():
    classes = ClassDensities([GaussianDensity(-1.0, 1.0), GaussianDensity(2.0, 4.0)], [0.7, 0.3])
    x = np.linspace(-4, 6, 41)
    joint = [np.log(p) + density.logpdf(x) for p, density in zip([0.7, 0.3], classes.densities, strict=True)]
    np.testing.assert_allclose(classes.log_joint(x), np.transpose(joint), rtol=1e-12)
    logs = np.stack([density.logpdf(x) for density in classes.densities], axis=-1)
    decided = bayes_decision(log_likelihood=logs, priors=[0.7, 0.3])
    assert decided.tolist() == np.argmax(joint, axis=0).tolist()


def test_bounds_by_priors_alone_are_their_formulas():
    assert prior_bounds([0.3, 0.7]) == {"guess": 0.5, "twice_smaller": 0.6, "smaller": 0.3}
    bounds = prior_bounds([0.2, 0.5, 0.3])
    assert bounds["guess"] == pytest.approx(2 / 3)
    assert bounds["smaller"] == pytest.approx(0.5)
    assert "twice_smaller" not in bounds


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_probabilities_are_corrected_for_other_priors_row_by_row(dtype):
    X, y = np.random.default_rng(22).normal(size=(60, 2)).astype(dtype), np.repeat(["no", "yes"], [45, 15])
    plain, moved = DecisionClassifier().fit(X, y), DecisionClassifier(priors=[0.5, 0.5]).fit(X, y)
    shares = plain.predict_proba(X).astype(np.float64)
    wanted = shares * [0.5 / 0.75, 0.5 / 0.25]
    wanted /= wanted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(moved.predict_proba(X), wanted, rtol=1e-5 if dtype == np.float32 else 1e-10)
    # Rows of weight zero do not count towards the priors of training.
    weight = np.where(np.arange(60) < 30, 0.0, 1.0)
    again = DecisionClassifier(priors=[0.5, 0.5]).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(again.trained_priors_, [0.5, 0.5])


def test_sums_over_classes_are_along_the_last_axis_of_any_stack():
    costs = np.random.default_rng(22).uniform(size=(2, 3))
    action, risk = optimal_action(STACK, costs)
    expected = np.einsum("ijc,ac->ija", STACK, costs)
    np.testing.assert_array_equal(action, expected.argmin(axis=-1))
    np.testing.assert_allclose(risk, expected.min(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(correct_priors(STACK, [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]), STACK, rtol=1e-12)
    np.testing.assert_array_equal(bayes_decision(STACK, [0.2, 0.3, 0.5]), (STACK * [0.2, 0.3, 0.5]).argmax(axis=-1))
    shares = discriminant_functions(STACK, [0.2, 0.3, 0.5], form="posterior")
    np.testing.assert_allclose(shares.sum(axis=-1), 1.0)


def test_tags_are_those_of_the_model_inside():
    tags = get_tags(DecisionClassifier(SVC(probability=True)))
    assert tags.input_tags.sparse
    assert tags.classifier_tags is not None
    assert tags.estimator_type == "classifier"
    assert get_tags(DecisionClassifier()).classifier_tags is not None
