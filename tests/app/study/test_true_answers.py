"""Sentences that used to be false: about groups, more rows, worse candidates and rare classes."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_digits

import mercer
from mercer._source.table import read_table
from mercer.app.commands.compare import compare
from mercer.app.schema import predict_columns
from mercer.app.study.choice.comparison import list_candidates
from mercer.app.study.curves import _describe_curve
from mercer.app.study.metrics import METRICS
from mercer.app.table import guess_roles
from tests.app.report.records import RECORDS


def _make_blobs(gaps):
    random = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0, 0.0], [8.0, 0.0, 4.0], [0.0, 8.0, 8.0]], [90, 60, 30], axis=0)
    frame = pandas.DataFrame(centres + random.normal(size=centres.shape), columns=["a", "b", "c"])
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    frame.loc[frame.index[:gaps], "a"] = np.nan
    return frame


@pytest.mark.parametrize("gaps", [0, 2])
def test_gaps_make_no_group_and_predictions_have_the_numbers_of_the_report(gaps):
    frame = _make_blobs(gaps)
    study = mercer.run(frame)
    sizes = {cluster.name: cluster.size for cluster in study.record.structure.clusters}
    assert sum(size > 20 for size in sizes.values()) == 3
    assert min(size for name, size in sizes.items() if name != "no group") > 20
    names, counts = np.unique(predict_columns(study.model, frame)["prediction"], return_counts=True)
    predicted = dict(zip(names.tolist(), counts.tolist()))
    # Rows between dense regions may be put into a group when they are predicted as new rows.
    for name in sizes:
        assert predicted.get(name, 0) == pytest.approx(sizes[name], abs=12)


def test_rows_without_groups_are_predicted_to_be_one_group():
    frame = pandas.DataFrame(np.random.default_rng(1).normal(size=(150, 3)), columns=["a", "b", "c"])
    study = mercer.run(frame)
    assert study.record.answer.startswith("The 150 rows form no separate groups")
    assert [cluster.name for cluster in study.record.structure.clusters] == ["group 1"]
    assert set(predict_columns(study.model, frame)["prediction"]) == {"group 1"}


def _describe(curve, noise, baseline=0.5):
    sizes = np.array([50, 100, 200, 350, 500])
    # Five repeats about each mean, as far apart as five draws of a normal distribution usually are.
    spread = np.array([-1.16, 0.5, 0.0, -0.5, 1.16])
    test = np.array(curve)[:, None] + noise * np.array([np.roll(spread, place) for place in range(5)])
    constant = SimpleNamespace(scores=np.full(5, baseline))
    selection = SimpleNamespace(
        plan=SimpleNamespace(test_share=0.25),
        metric=METRICS["classification"]["balanced_accuracy"],
        trials=[constant],
    )
    return _describe_curve(test, sizes, selection, 0.95)


def test_more_rows_help_little_only_if_the_learning_curve_is_flat():
    rising = _describe([0.6, 0.66, 0.72, 0.76, 0.79], 0.003)
    assert rising.startswith("More rows would help: twice as many would improve the balanced accuracy by about 0.05")
    flat = _describe([0.8, 0.88, 0.9, 0.9, 0.9], 0.0002)
    assert flat.startswith(
        "More rows of this kind would not help: with twice as many, the balanced accuracy would stay"
    )
    near = _describe([0.8, 0.88, 0.9, 0.9, 0.9], 0.002)
    assert near.startswith("More rows of this kind would help little: twice as many would improve"), near
    unclear = _describe([0.8, 0.88, 0.9, 0.9, 0.9], 0.03)
    assert unclear.startswith("It is not clear whether more rows would help")


def test_more_rows_take_away_at_most_half_of_the_error():
    steep = _describe([0.1, 0.1, 0.2, 0.5, 0.8], 0.003)
    assert steep == "More rows would help: twice as many may improve the balanced accuracy by up to 0.1."


def test_a_candidate_is_worse_only_beyond_chance():
    base = np.array([0.81, 0.74, 0.85, 0.79, 0.82])
    noise = np.array([0.02, -0.03, 0.01, 0.02, -0.02])
    scores = {"best": base + 0.02, "near": base + 0.015 + noise, "far": base - 0.1}
    record = _compare_fakes(scores)
    assert record == {"best": "best", "near": "as good", "far": "worse"}


def _compare_fakes(scores):
    trials = {
        name: SimpleNamespace(
            name=name,
            scores=values,
            train_scores=values,
            seconds=1.0,
            models=[None],
            chosen_settings=[{}],
            predictions=np.empty(0),
        )
        for name, values in scores.items()
    }
    offers = [
        SimpleNamespace(name=name, rank=place, complexity=None, family="", text="") for place, name in enumerate(trials)
    ]
    selection = SimpleNamespace(
        trials=list(trials.values()),
        distrusted=[],
        rivals={},
        too_slow={},
        outdone={},
        offers=offers,
        plan=SimpleNamespace(test_share=0.25),
        result=SimpleNamespace(trial=trials.__getitem__, winner="none of them"),
        metric=METRICS["classification"]["balanced_accuracy"],
        # Intervals come from the scores of the folds, as for splits that go forward in time.
        timed=True,
    )
    return {one.name: one.status for one in list_candidates(selection, SimpleNamespace(level=0.95))}


def test_runs_with_overlapping_intervals_are_not_called_worse():
    record = RECORDS["classification"]()
    from dataclasses import replace

    def with_score(score, low, high):
        return replace(record, sureness=replace(record.sureness, score=score, low=low, high=high))

    said = compare(with_score(0.776, 0.7, 0.85), with_score(0.753, 0.68, 0.83))["sentences"]
    assert any(sentence.startswith("The scores do not differ clearly:") for sentence in said)
    assert not any("worse" in sentence for sentence in said)
    said = compare(with_score(0.776, 0.7, 0.85), with_score(0.5, 0.4, 0.6))["sentences"]
    assert any(sentence.startswith("The second run is worse:") for sentence in said)
    other = replace(record, question=replace(record.question, splits="others"))
    assert any(sentence.startswith("The splits differ: ") for sentence in compare(record, other)["sentences"])


def test_ten_equal_classes_are_not_called_unequal():
    digits = load_digits(as_frame=True).frame.iloc[:600, -3:]
    _, notices = guess_roles(read_table(digits), target="target")
    assert not any("unbalanced" in notice.text for notice in notices)
    rare = pandas.DataFrame({"x": np.arange(1000) % 7, "y": np.where(np.arange(1000) % 25, "no", "yes")})
    _, notices = guess_roles(read_table(rare), target="y")
    assert any("unbalanced: `yes` has 40 of 1000 rows (4.0 %)." in notice.text for notice in notices)
