"""Conformal intervals and sets: the rank of the quantile, coverage on new rows, and the ways to ask for them."""

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.command import main
from mercer.app.deploy.conformal import find_quantile, predict_interval, predict_set, store_scores
from mercer.errors import DataError
from tests.app.deploy.studies import make_rows, study_classes, study_numbers


def test_the_quantile_is_the_conformal_rank_and_thinning_never_lowers_it():
    random = np.random.default_rng(0)
    residuals = random.exponential(size=3001)
    conformal = store_scores(residuals, np.zeros(3001), [])
    assert conformal.counts == [3001]
    assert len(conformal.scores[0]) <= 1000
    exact = np.sort(residuals)
    for level in (0.5, 0.9, 0.99):
        rank = int(np.ceil(3002 * level))
        # Ranks that are kept lie three or four apart.
        found = find_quantile(conformal.scores[0], 3001, level)
        assert exact[rank - 1] <= found <= exact[min(rank + 3, 3001) - 1]
    # Nine scores cannot tell what happens in one of twenty cases.
    assert find_quantile([0.1] * 9, 9, 0.95) == np.inf
    assert find_quantile(list(range(19)), 19, 0.95) == 18


def test_intervals_of_a_target_without_negative_values_begin_at_zero():
    true = np.array([0.0, 5.0, 9.0, 2.0])
    low, high = predict_interval(store_scores(true, true + 3, []), np.array([1.0, 8.0, -9.0]), 0.7)
    assert low.tolist() == [0.0, 5.0, 0.0]
    assert high.tolist() == [4.0, 11.0, 0.0]
    assert predict_interval(store_scores(true - 1, true, []), np.array([0.5]), 0.7)[0].tolist() == [-0.5]


def test_sets_cover_each_class_and_are_never_empty():
    random = np.random.default_rng(1)
    true = random.choice(3, size=4000, p=[0.8, 0.15, 0.05])
    shares = random.dirichlet([1, 1, 1], 4000) + 0.8 * np.eye(3)[true]
    shares /= shares.sum(axis=1, keepdims=True)
    conformal = store_scores(true[:2000], shares[:2000], ["a", "b", "c"])
    sets = predict_set(conformal, shares[2000:], ["a", "b", "c"], 0.9)
    assert min(map(len, sets)) >= 1
    for place, name in enumerate("abc"):
        rows = np.flatnonzero(true[2000:] == place)
        assert np.mean([name in sets[row] for row in rows]) > 0.83


def test_intervals_hold_nine_of_ten_new_rows():
    new = make_rows(400, seed=5)
    predicted = study_numbers().predict(new, coverage=0.9)
    inside = (predicted["low"] <= new["value"]) & (new["value"] <= predicted["high"])
    assert 0.84 <= inside.mean() <= 0.97


def test_the_command_line_writes_them(tmp_path, capsys):
    folder = study_classes().save(tmp_path / "run")
    new = tmp_path / "new.csv"
    make_rows(30, seed=7).to_csv(new, index=False)
    out = tmp_path / "out.csv"
    assert main(["predict", str(folder), str(new), "--coverage", "0.9", "-o", str(out)]) == 0
    table = pandas.read_csv(out)
    assert list(table.columns)[:2] == ["prediction", "set"]
    assert set(table["set"]) <= {"no", "yes", "no; yes"}
    assert main(["predict", str(folder), str(new), "--coverage", "95"]) == 2
    assert "coverage must be a probability between 0 and 1; got 95" in capsys.readouterr().err
    alone = tmp_path / "alone.mercer"
    mercer.save(study_classes().model, alone)
    assert main(["predict", str(alone), str(new), "--coverage", "0.9"]) == 2
    assert "no run.json beside the model" in capsys.readouterr().err


def test_a_study_pickles_saves_and_loads(tmp_path):
    import pickle

    study, new = study_numbers(), make_rows(20, seed=3)
    again = pickle.loads(pickle.dumps(study))
    loaded = mercer.Study.load(study.save(tmp_path / "run"))
    for other in (again, loaded):
        assert other.record == study.record
        pandas.testing.assert_frame_equal(other.predict(new, 0.8), study.predict(new, 0.8))
    assert study._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(DataError, match="there is no record"):
        mercer.Study.load(tmp_path / "nothing")
