"""Losses and penalties: values by hand, derivatives by differences, conjugates by Fenchel and Young, equal twins."""

import array_api_strict
import numpy as np
import pytest
from scipy.special import expit, logsumexp

from mercer._objective import ElasticNetPenalty, Logistic, Softmax


def scores_and_labels(loss, n=40, spread=3.0):
    random = np.random.default_rng(0)
    scores = random.normal(size=(n, loss.n_scores)) * spread
    y = random.integers(0, loss.n_classes, size=n)
    return scores, y.astype(np.float64) if loss.n_scores == 1 else y


LOSSES = [Logistic(), Softmax(3), Softmax(10)]


@pytest.mark.catalogue("LM-14")
def test_the_logistic_loss_is_minus_the_log_likelihood_with_both_terms_in_brackets():
    z, y = np.array([[0.0], [2.0], [-1.0]]), np.array([1.0, 0.0, 1.0])
    p = expit(z[:, 0])
    assert Logistic().value(z, y, np) == pytest.approx(-(y * np.log(p) + (1 - y) * np.log(1 - p)))


@pytest.mark.catalogue("LM-15")
def test_softmax_uses_plus_the_score_and_only_the_true_class():
    z = np.array([[1.0, 2.0, 4.0]])
    p = np.exp(z) / np.exp(z).sum()
    assert Softmax(3).mean(z, np) == pytest.approx(p)
    assert Softmax(3).value(z, np.array([1]), np) == pytest.approx(-np.log(p[0, 1]))


@pytest.mark.catalogue("LM-15")
def test_softmax_of_two_classes_is_the_logistic_loss_and_a_shift_of_all_scores_changes_nothing():
    z, y = scores_and_labels(Logistic())
    pair = np.column_stack([np.zeros(len(z)), z]) + 7.0
    assert Softmax(2).value(pair, y.astype(np.intp), np) == pytest.approx(Logistic().value(z, y, np), abs=1e-12)
    assert Softmax(2).mean(pair, np)[:, 1] == pytest.approx(Logistic().mean(z, np)[:, 0])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_residuals_are_the_derivative_of_the_value(loss):
    scores, y = scores_and_labels(loss)
    residual = loss.residual(scores, y, np)
    for column in range(loss.n_scores):
        step = np.zeros_like(scores)
        step[:, column] = 1e-5
        slope = (loss.value(scores + step, y, np) - loss.value(scores - step, y, np)) / 2e-5
        assert residual[:, column] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_value_and_conjugate_meet_in_fenchel_and_youngs_equality(loss):
    scores, y = scores_and_labels(loss)
    product = np.sum(scores * loss.residual(scores, y, np), axis=1)
    total = loss.value(scores, y, np) + loss.conjugate(loss.residual(scores, y, np), y, np)
    assert total == pytest.approx(product, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_compiled_sum_is_the_definition(loss, weighted):
    scores, y = scores_and_labels(loss, n=1003)
    weight = np.random.default_rng(1).uniform(0, 2, size=1003) if weighted else None
    size = np.ones(1003) if weight is None else weight
    buffer = scores.copy()
    total = loss.sum_with_residual(buffer, y, weight)
    assert total == pytest.approx(np.sum(size * loss.value(scores, y, np)), rel=1e-12)
    assert buffer == pytest.approx(size[:, None] * loss.residual(scores, y, np), abs=1e-13)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_definition_runs_on_any_array_library(loss):
    scores, y = scores_and_labels(loss)
    xp = array_api_strict
    value = loss.value(xp.asarray(scores), xp.asarray(y), xp)
    assert np.asarray(value) == pytest.approx(loss.value(scores, y, np))
    assert np.asarray(loss.residual(xp.asarray(scores), xp.asarray(y), xp)) == pytest.approx(
        loss.residual(scores, y, np)
    )


@pytest.mark.parametrize("size", [1e3, 1e300])
def test_huge_scores_neither_overflow_nor_lose_their_sign(size):
    z = np.array([[size], [-size]])
    assert Logistic().value(z, np.array([1.0, 1.0]), np).tolist() == [0.0, size]
    rows = np.array([[size, 0.0, -size]])
    assert Softmax(3).mean(rows, np).tolist() == [[1.0, 0.0, 0.0]]
    assert Softmax(3).value(rows, np.array([1]), np) == pytest.approx(size)
    assert logsumexp(rows) == pytest.approx(size)


def test_the_proximal_map_minimises_its_definition():
    penalty = ElasticNetPenalty(np.array([0.3, 0.0]), np.array([0.5, 2.0]))
    w, step = np.array([[1.0, -1.0], [0.1, 0.2]]), 0.7
    u = penalty.prox(w, step)

    def cost(v):
        return np.sum((v - w) ** 2) / (2 * step) + penalty.value(v)

    for move in np.random.default_rng(0).normal(size=(50, 2, 2)) * 1e-3:
        assert cost(u) <= cost(u + move)


def test_the_conjugate_of_a_penalty_is_its_supremum_and_infinite_outside_a_pure_l1():
    penalty = ElasticNetPenalty(np.array([0.3, 0.0]), np.array([0.5, 2.0]))
    u = np.array([[0.8, -1.0]])
    grid = np.stack(np.meshgrid(np.linspace(-1, 2, 151), np.linspace(-1, 1, 101)), axis=-1).reshape(-1, 2)
    best = max(float(w @ u[0]) - penalty.value(w[None]) for w in grid)
    assert penalty.conjugate(u) == pytest.approx(best, abs=1e-4)
    assert ElasticNetPenalty(np.array([0.3]), np.array([0.0])).conjugate(np.array([[0.31]])) == np.inf
    assert ElasticNetPenalty(np.array([0.3]), np.array([0.0])).conjugate(np.array([[0.3]])) == 0.0
