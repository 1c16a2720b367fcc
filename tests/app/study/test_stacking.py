"""Stacking: weights from predictions of unseen rows, an honest score, and a model that can be saved."""

import numpy as np
import pandas
import pytest

import mercer
import mercer.model_selection
from mercer._source.table import read_table
from mercer.app.options import Options
from mercer.app.study.choice.comparison import list_candidates, make_complexity_curve
from mercer.app.study.choice.stacking import NAME, learn_weights, make_stack, measure_gain
from mercer.app.study.choice.trying import select
from mercer.app.study.clock import Clock
from mercer.app.study.dataset import gather
from mercer.app.table import guess_roles

# A ridge regression sees the sum of six columns and a tree the step; their mean has half of each error.
MEMBERS = ["ridge regression", "one tree", NAME]
QUICK = {"quick": True, "folds": 3, "inner": 2, "n_jobs": 1, "splits": "random"}


def _make_table(n: int = 240, seed: int = 0) -> pandas.DataFrame:
    rng = np.random.default_rng(seed)
    lines, step, name = rng.normal(size=(n, 6)), rng.uniform(-1, 1, n), rng.choice(["a", "b", "c"], n)
    y = lines.sum(axis=1) + 5.0 * (np.abs(step) > 0.5) + 0.3 * rng.normal(size=n)
    return pandas.DataFrame({f"x{k}": lines[:, k] for k in range(6)} | {"step": step, "name": name, "y": y})


def test_weights_of_probabilities_minimise_the_log_loss():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 500)
    good = np.where(y == 1, 0.8, 0.3) + 0.1 * rng.normal(size=500)
    other = np.where(y == 1, 0.7, 0.2) + 0.1 * rng.normal(size=500)
    chance = np.clip(np.stack([good, other, rng.uniform(size=500)]), 0.01, 0.99)
    shares = np.stack([1 - chance, chance], axis=2)
    weights = learn_weights(shares, y)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)

    def loss(candidate):
        pooled = np.tensordot(candidate, shares, 1)
        return -np.log(pooled[np.arange(500), y]).mean()

    grid = [np.array([a, 1 - a, 0.0]) for a in np.linspace(0, 1, 51)]
    assert loss(weights) <= min(map(loss, grid)) + 1e-4


def test_weights_of_values_are_those_of_least_squares_between_zero_and_one():
    rng = np.random.default_rng(2)
    y = rng.normal(size=400)
    # Independent errors of variances 1 and 4: the best weights are 4/5 and 1/5.
    members = np.stack([y + rng.normal(size=400), y + 2 * rng.normal(size=400)])
    weights = learn_weights(members, y)
    np.testing.assert_allclose(weights, [0.8, 0.2], atol=0.06)
    # Two copies of one error cannot help each other, and a far worse model gets nothing.
    assert learn_weights(np.stack([members[0], y + 100]), y)[1] == 0


def test_weights_are_equal_where_there_are_few_rows():
    np.testing.assert_array_equal(learn_weights(np.zeros((2, 5)), np.arange(5.0)), [0.5, 0.5])


def _select(frame: pandas.DataFrame, **changes):
    table = read_table(frame)
    roles, _ = guess_roles(table, target="y")
    options = Options(**(QUICK | {"target": "y", "candidates": MEMBERS} | changes))
    dataset = gather(table, roles)
    return select(dataset, options, Clock(None, None, True)), dataset


def test_test_rows_do_not_move_the_weights_of_their_split():
    frame = _make_table()
    selection, dataset = _select(frame)
    stack = make_stack(selection.plan, selection.trials[:-1], dataset, None)
    _, test = selection.plan.outer[0]
    moved = dataset.y.copy()
    moved[test] += 100.0
    rows = selection.plan.rows
    other = make_stack(
        type(selection.plan)(
            type(rows)(rows.X, moved, None, rows.scorer),
            None,
            selection.plan.outer,
            selection.plan.inner,
            selection.plan.folds,
        ),
        selection.trials[:-1],
        dataset,
        None,
    )
    np.testing.assert_array_equal(stack.fold_weights[0], other.fold_weights[0])
    assert not np.array_equal(stack.fold_weights[1], other.fold_weights[1])


def test_the_stack_wins_where_members_see_different_things_and_its_folds_match_its_predictions():
    selection, _ = _select(_make_table(400))
    assert selection.result.winner == NAME
    gain, error = measure_gain(selection.winner, selection.trials[-2], selection.plan)
    assert gain > 2 * error
    for model, (_, test) in zip(selection.winner.models, selection.plan.outer):
        predicted = model.predict(selection.plan.rows.X.iloc[test])
        # Inner predictions are kept in single precision; the weights inherit its seven digits.
        np.testing.assert_allclose(predicted, selection.winner.predictions[test], rtol=1e-5, atol=1e-5)


def test_a_stack_that_is_not_clearly_better_is_not_chosen():
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    frame["y"] = frame["a"] + 0.5 * rng.normal(size=150)
    selection, _ = _select(frame)
    assert selection.result.winner == "ridge regression"
    if NAME in [trial.name for trial in selection.trials]:
        # It was never fitted as one model, so that it has no score on training rows.
        listed = list_candidates(selection, Options())
        stack = listed[-1]
        assert (stack.name, stack.train_score) == (NAME, None)
        assert stack.complexity_text.endswith(" models")
        assert NAME not in make_complexity_curve(listed, selection.metric).names


def test_a_stacked_study_predicts_the_same_after_saving(tmp_path):
    frame = _make_table(400)
    study = mercer.run(frame, "y", candidates=MEMBERS, **QUICK)
    chosen = next(candidate for candidate in study.record.candidates if candidate.status == "chosen")
    assert chosen.name == NAME
    assert study.record.answer.startswith("Stacked models predict `y`")
    assert "ridge regression (" in chosen.text
    study.save(tmp_path)
    again = mercer.Study.load(tmp_path)
    np.testing.assert_array_equal(again.predict(frame)["prediction"], study.predict(frame)["prediction"])


def test_weighted_rows_are_not_stacked():
    frame = _make_table().assign(w=1.0)
    study = mercer.run(frame, "y", weight="w", candidates=MEMBERS, **QUICK)
    assert NAME not in [candidate.name for candidate in study.record.candidates]


def test_candidates_are_ordered_by_how_many_numbers_a_reader_must_take_in():
    names = [candidate.name for candidate in mercer.model_selection.candidates("classification")]
    expected = [
        "the constant guess",
        "nearest centroid",
        "linear discriminant",
        "logistic regression",
        "naive Bayes",
        "one tree",
        "curves, logistic regression",
        "quadratic discriminant",
        "Bayesian network",
        "nearest neighbours",
        "random forest",
        "multilayer perceptron",
    ]
    assert [name for name in names if name in expected] == expected


def test_members_whose_errors_are_rounding_have_weights_too():
    rng = np.random.default_rng(3)
    y = 900 + rng.normal(size=400)
    members = np.stack([y + 1e-13 * rng.normal(size=400), y + 2e-13 * rng.normal(size=400), y])
    for given in (members, members[:2]):
        weights = learn_weights(given, y)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1)
    np.testing.assert_array_equal(learn_weights(np.stack([y, y]), y), [0.5, 0.5])
