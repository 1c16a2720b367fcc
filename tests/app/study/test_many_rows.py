"""Studies of many rows within a budget: the candidate that leads comes first, and the last fit takes all rows."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

import mercer
from mercer.app.study import engine, more_rows
from mercer.app.study.choice import exploring, splits, trying
from mercer.app.study.choice.schedule import Schedule
from mercer.app.table import column_summary
from mercer.app.table.column_summary import count_distinct

CANDIDATES = ["lasso", "one tree", "boosted trees"]


def _draw(n_rows, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    return frame.assign(y=np.sin(2 * frame.a) + frame.b * (frame.c > 0) + 0.3 * random.normal(size=n_rows))


@pytest.fixture
def many(monkeypatch):
    """Take a thousand rows for many, so that the tests are quick."""
    monkeypatch.setattr(splits, "_MANY_ROWS", 1000)
    monkeypatch.setattr(engine, "_FEWEST_OF_MANY", 1000)
    monkeypatch.setattr(more_rows, "_FEWEST_APART", 100)
    monkeypatch.setattr(exploring, "_MOST_ROUNDS", 0)


def _study(frame, **options):
    told = []
    given = {"quick": True, "budget": 600.0, "candidates": CANDIDATES, "splits": "random"}
    study = mercer.run(frame, "y", watch=lambda event: told.append(event.text), **(given | options))
    return study, told


def test_boosted_trees_are_tried_first_and_once_more_with_more_settings(many, monkeypatch):
    monkeypatch.setattr(exploring, "_MOST_ROUNDS", 1)
    monkeypatch.setattr(exploring, "_MOST_DRAWN", 4)
    study, told = _study(_draw(1200))
    tried = [text for text in told if text in {*CANDIDATES, "the constant guess"} or "more settings" in text]
    names = list(dict.fromkeys(tried))
    assert names[:2] == ["the constant guess", "boosted trees"]
    assert any("more settings" in text for text in tried)
    boosted = next(candidate for candidate in study.record.candidates if candidate.name == "boosted trees")
    # The settings that the search found are those of the final fit.
    assert any(setting.get("early_stopping") for setting in boosted.settings) or study.record.fit.settings == {}


def test_fewer_rows_are_compared_where_boosted_trees_would_take_the_whole_budget(many, monkeypatch):
    asked = []

    def forecast(self, offer):
        asked.append(offer.name)
        return 1800.0

    monkeypatch.setattr(Schedule, "forecast_alone", forecast)
    monkeypatch.setattr(trying, "_FEWEST_COMPARED", 300)
    study, _ = _study(_draw(3000))
    assert asked == ["boosted trees"]
    # Three tenths of 600 seconds, less what was spent, are a tenth of 1800.
    text = next(notice.text for notice in study.record.data.notices if "compared on" in notice.text)
    assert 250 <= int(text.split("compared on ")[1].split()[0]) <= 300
    assert {one.name for one in study.record.candidates if one.score is not None} >= set(CANDIDATES)


def test_the_score_is_that_of_the_final_model_on_rows_kept_apart(many):
    frame = _draw(4000)
    study, _ = _study(frame, max_rows=1000)
    sure = study.record.sureness
    assert sure.n_apart == 750  # a quarter of the rows that were not compared
    assert "750 rows took no part in the comparison" in sure.method
    assert study.record.question.n_rows == 4000
    # Drawn again from the same seed, they give the same score, so that the model has not seen them.
    compared = engine.draw_rows(_as_dataset(frame), 1000, 0)
    apart = more_rows.draw_apart(_as_dataset(frame), compared, mercer.app.options.Options())
    rows = frame.iloc[apart]
    assert sure.score == pytest.approx(r2_score(rows.y, study.model.predict(rows)))
    assert sure.low < sure.score < sure.high


def _as_dataset(frame):
    from mercer._source.table import read_table
    from mercer.app.study.dataset import gather
    from mercer.app.table import guess_roles

    table = read_table(frame)
    return gather(table, guess_roles(table, target="y")[0])


def test_whole_groups_are_kept_apart(many):
    frame = _draw(4000).assign(shop=np.repeat(np.arange(400), 10))
    dataset = _as_dataset(frame)
    dataset = engine.replace(dataset, groups=frame.shop.to_numpy().astype(str))
    compared = engine.draw_rows(dataset, 1000, 0)
    apart = more_rows.draw_apart(dataset, compared, mercer.app.options.Options())
    here, rest = set(dataset.groups[apart]), set(np.delete(dataset.groups, apart))
    assert len(apart) >= 100
    assert not here & rest


def test_a_model_that_is_too_slow_for_all_rows_gives_way_to_the_next_one_and_the_report_says_so(many, monkeypatch):
    slow = {"boosted trees"}

    def forecast(selection, name, setting, dataset, most):
        return 1e6 if name in slow else 1.0

    monkeypatch.setattr(more_rows, "_forecast", forecast)
    study, _ = _study(_draw(4000), max_rows=1000)
    chosen = next(candidate.name for candidate in study.record.candidates if candidate.status == "chosen")
    assert chosen in {"one tree", "lasso"}
    text = "A fit to all 4000 rows would take about 2.8e+02 h, for which there is no time."
    assert any(text in candidate.text for candidate in study.record.candidates)
    assert any("for which there is no time" in sentence for sentence in study.record.findings)


def test_a_fit_to_a_part_of_the_rows_is_never_silent(many, monkeypatch):
    # There is time for four times the compared rows, but not for all.
    monkeypatch.setattr(more_rows, "_forecast", lambda selection, name, setting, dataset, most: 2.0 * most)
    study, _ = _study(_draw(9000), max_rows=1000)
    assert "There was no time to fit the chosen model to all rows. It is fitted to 4500 of them." in [
        notice.text for notice in study.record.data.notices if notice.level == "warning"
    ]
    assert study.record.sureness.n_apart == 2000


@pytest.mark.parametrize("values", [[1.0, np.nan, 1.0, 3.5, -0.0, 0.0], [2, 2, 7], [np.nan, np.nan]])
def test_distinct_numbers_are_counted_alike_in_few_and_many_rows(values, monkeypatch):
    column = pd.Series(values)
    few = count_distinct(column)
    monkeypatch.setattr(column_summary, "_MANY_ROWS", 0)
    assert count_distinct(column) == few == column.nunique()


def _count_rounds(monkeypatch, seconds, part=1.0, whole=0.4):
    """Return the numbers of settings that a search draws in rounds, which advance a clock by the time they take."""
    now, drawn = [0.0], []
    trial = SimpleNamespace(name="boosted trees", inner_scores=np.zeros((5, 1, 1)))
    # Measured on 40 000 rows with nine columns: seconds of fits to 2844 and 8533 rows, and to all inner training rows.
    pace = exploring._Pace([0.224 * whole / 0.4, 0.267 * whole / 0.4], whole)
    trying = SimpleNamespace(
        options=SimpleNamespace(seed=0),
        selection=SimpleNamespace(trials=[trial], plan=SimpleNamespace(outer=range(5))),
        clock=SimpleNamespace(tell=lambda *given: None),
        measure_left=lambda: seconds - now[0],
        list_grids=lambda offer: [],
        n_rounds=0,
        pace=None,
    )

    def search(trying, offer, tried, random, n_drawn, own, deadline):
        each = sum(fit / 3**place for place, fit in enumerate(pace.rounds))
        now[0] += 15 * whole + 2 * each * n_drawn
        drawn.append(n_drawn)
        better = tried.inner_scores + 0.01
        trying.selection.trials[:] = [SimpleNamespace(name=trial.name, inner_scores=better)]
        return trying.selection.trials[0]

    monkeypatch.setattr(exploring, "_search", search)
    monkeypatch.setattr(exploring, "_measure_pace", lambda *given: pace)
    exploring.explore(trying, SimpleNamespace(name=trial.name), 0.05, part)
    return drawn, now[0]


def test_more_time_gives_more_settings(monkeypatch):
    settings = [sum(_count_rounds(monkeypatch, seconds)[0]) for seconds in (5, 21, 60, 240)]
    assert settings[0] == 0, "no round is begun that cannot be finished"
    assert settings[1] >= 15
    assert settings[2] > 1.5 * settings[1]
    assert settings[3] > 2 * settings[2]


def test_the_search_leaves_time_for_others(monkeypatch):
    for seconds in (30, 100, 300):
        drawn, spent = _count_rounds(monkeypatch, seconds, part=0.5)
        assert drawn
        assert spent <= 0.5 * seconds
