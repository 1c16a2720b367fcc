"""Rows that depend on each other are noticed, both scores are shown, and the answer uses the honest splits."""

import numpy as np
import pandas

import mercer
from mercer._source.table import read_table
from mercer.app.options import Options
from mercer.app.report.pages import render_report
from mercer.app.study.choice import dependence
from mercer.app.study.dataset import gather
from mercer.app.table import guess_roles
from mercer.app.table.keys import decides_splits, find_keys, find_times, follows_a_sort, name_follow_up
from mercer.app.table.panels import find_panels
from mercer.model_selection.trials import OutOfTimeError, fit_settings

QUICK = {"quick": True, "folds": 3, "inner": 2, "candidates": ["nearest centroid", "ridge regression"]}


def _weigh_pigs(n_pigs=30, n_weeks=6):
    """Return the weights of pigs, week by week; each pig grows at a pace of its own."""
    random = np.random.default_rng(0)
    pig, week = np.repeat(np.arange(n_pigs), n_weeks), np.tile(np.arange(n_weeks), n_pigs)
    pace, litter = random.normal(size=n_pigs), random.integers(0, 12, n_pigs)
    weight = 20 + 5 * week * (1 + 0.2 * pace[pig]) + 6 * pace[pig] + 0.5 * random.normal(size=len(pig))
    return pandas.DataFrame(
        {"Pig": 4600 + pig, "Litter": litter[pig], "Week": week + 1, "noise": random.random(len(pig)), "Weight": weight}
    )


def _watch_weather(n_days=200):
    random = np.random.default_rng(4)
    state = np.zeros(n_days)
    for day in range(1, n_days):
        state[day] = 0.95 * state[day - 1] + random.normal()
    days = pandas.date_range("2020-01-01", periods=n_days)
    rain = np.where(state > np.median(state), "yes", "no")
    return pandas.DataFrame({"day": days, "wind": random.normal(size=n_days), "rain": rain})


def _run(frame, target, **options):
    names = [
        one.name for one in mercer.model_selection.candidates("regression" if target == "Weight" else "classification")
    ]
    chosen = [name for name in QUICK["candidates"] if name in names]
    return mercer.run(frame, target, **{**QUICK, "candidates": chosen, **options}).record


def test_rows_of_one_pig_stay_together():
    record = _run(_weigh_pigs(), "Weight")
    assert record.question.splits == "3 folds that keep groups of `Pig` together"
    at_random, together = record.splits
    assert (at_random.used, together.used) == (False, True)
    assert at_random.score > together.score + 0.03
    assert {column.name: column.role for column in record.data.columns}["Pig"] == "group"
    notice = next(notice for notice in record.data.notices if notice.subject == "Pig")
    assert notice.level == "warning"
    assert f"{together.score:.3g} if all rows of one `Pig` stay together" in notice.text
    assert "Score by kind of split" in render_report(record)


def test_rows_of_one_pig_stay_together_where_a_skewed_target_is_also_tried_as_a_logarithm():
    frame = _weigh_pigs()
    frame["Weight"] = np.exp(frame["Weight"] / 12)
    record = _run(frame, "Weight", quick=True)
    assert not [notice.text for notice in record.data.notices if "failed" in notice.text]
    assert record.question.splits == "3 folds that keep groups of `Pig` together"


def test_days_are_tested_on_later_days_unless_random_splits_are_given():
    record = _run(_watch_weather(), "rain")
    assert record.question.splits == "3 folds, forward in time by `day`"
    assert [part.used for part in record.splits] == [False, True]
    assert record.splits[0].score > record.splits[1].score
    given = _run(_watch_weather(), "rain", splits="random")
    assert given.question.splits == "3 folds, stratified"
    assert given.splits == []


def test_independent_rows_with_dates_are_split_at_random():
    frame = _watch_weather()
    frame["wind"] = frame["wind"] + 3 * (frame["rain"] == "yes")
    frame[["wind", "rain"]] = frame[["wind", "rain"]].sample(frac=1, random_state=1).to_numpy()
    record = _run(frame.astype({"wind": float}), "rain")
    assert record.question.splits == "3 folds, stratified"
    assert [part.used for part in record.splits] == [True, False]
    assert next(notice for notice in record.data.notices if notice.subject == "day").level == "note"


def test_keys_and_times_are_told_from_properties_of_rows():
    random = np.random.default_rng(0)
    age = random.integers(20, 60, 400)
    frame = pandas.DataFrame(
        {
            "age": age,
            "age_group": age // 5,
            "patient_id": np.repeat(np.arange(100), 4),
            "city": np.array(list("abcdefghijkl"))[random.integers(0, 12, 400)],
            "year": np.repeat(np.arange(1900, 2000), 4),
            "y": random.normal(size=400),
        }
    )
    table = read_table(frame)
    roles, _ = guess_roles(table, target="y")
    assert find_keys(table, roles)[0] == "patient_id"
    assert not {"age", "age_group", "city"} & set(find_keys(table, roles))
    assert find_times(table, roles) == ["year"]
    until = read_table(pandas.DataFrame({"time": np.sort(random.exponential(size=60) ** 2), "y": ["u", "v"] * 30}))
    assert find_times(until, guess_roles(until, target="y")[0]) == [], "a time until an event"


def test_a_cycle_of_years_is_tested_on_later_years():
    random = np.random.default_rng(0)
    year = np.arange(1800, 2000)
    frame = pandas.DataFrame({"YEAR": year, "Weight": 50 * np.sin(year / 2) + 5 * random.normal(size=200)})
    record = _run(frame, "Weight")
    assert record.question.splits == "3 folds, forward in time by `YEAR`"


def test_a_few_years_decide_the_splits_of_a_series_and_are_told_of_other_rows():
    random = np.random.default_rng(0)
    # A series of months, torn at both ends, and cars of which some years have more than others.
    month = np.arange(5, 18 * 12 - 3)
    series = pandas.DataFrame({"year": 1990 + month // 12, "month": month % 12 + 1})
    sold = pandas.DataFrame({"year": np.repeat(1970 + np.arange(12), random.integers(25, 45, 12))})
    for frame, decides in ((series, True), (sold, False), (series[series["month"] == 6], True)):
        table = read_table(frame.assign(y=random.normal(size=len(frame)), z="a"))
        assert find_times(table, guess_roles(table, target="y")[0])[:1] == ["year"]
        assert decides_splits(table.frame["year"]) is decides
    assert decides_splits(pandas.Series(np.repeat(np.arange(20), random.integers(1, 9, 20)))), "twenty are enough"

    def price(frame):
        late = 10.0 * (frame["year"] - frame["year"].min()) + 20 * random.normal(size=len(frame))
        return frame.assign(Weight=late, noise=random.random(len(frame)))

    assert _run(price(series), "Weight").question.splits == "3 folds, forward in time by `year`"
    record = _run(price(sold), "Weight")
    assert record.question.splits == "3 folds"
    told = next(notice for notice in record.data.notices if notice.subject == "year" and notice.level == "warning")
    assert "on rows that are later than the training rows" in told.text
    assert told.cure == "give --time year if new rows are later than these"


def test_a_trend_in_time_is_no_leak():
    days = pandas.date_range("2020-01-01", periods=200)
    table = read_table(pandas.DataFrame({"day": days, "level": np.arange(200) + 0.5}))
    roles, _ = guess_roles(table, target="level")
    assert roles.kinds == {"day": "date"}


def test_a_key_whose_rows_stand_together_is_found_although_two_blocks_are_torn():
    school = np.repeat(np.arange(100, 140), 10)
    school[[5, 395]] = school[[395, 5]]
    size = np.random.default_rng(0).integers(10, 20, 40)
    frame = pandas.DataFrame({"school": school, "size": size[school - 100], "y": np.arange(400.0)})
    table = read_table(frame)
    assert find_keys(table, guess_roles(table, target="y")[0]) == ["school"]


def test_times_until_an_event_are_told_from_times_before_it():
    numbers = np.random.default_rng(0).integers(1, 900, 60)
    names = ["stime", "diag.time", "edrel", "entry_time", "days_to_rel"]
    for target, found in (("status", ["stime"]), ("rel", ["stime", "edrel", "days_to_rel"])):
        table = read_table(pandas.DataFrame({**dict.fromkeys(names, numbers), target: numbers % 2}))
        roles = guess_roles(table, target=target)[0]
        assert [notice.subject for notice in name_follow_up(table, roles)] == found


def test_a_follow_up_time_is_named_as_a_possible_leak():
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"futime": random.integers(1, 900, 60), "age": random.integers(20, 80, 60)})
    frame["death"] = random.integers(0, 2, 60)
    table = read_table(frame)
    roles, _ = guess_roles(table, target="death")
    notices = name_follow_up(table, roles)
    assert [notice.subject for notice in notices] == ["futime"]
    assert "--ignore futime" in notices[0].cure
    assert name_follow_up(table, guess_roles(table, target="age")[0]) == []


def test_a_comparison_of_splits_that_runs_out_of_time_uses_the_pairs_that_were_scored(monkeypatch):
    table = read_table(_weigh_pigs())
    roles, _ = guess_roles(table, target="Weight")
    calls = []

    def fit_until_late(*given, **named):
        calls.append(1)
        if len(calls) > limit:
            raise OutOfTimeError
        return fit_settings(*given, **named)

    def count_scores():
        calls.clear()
        found = dependence.find_dependence(table, roles, gather(table, roles), Options(n_jobs=1), left=1e6)
        return len(found.scores)

    monkeypatch.setattr(dependence, "fit_settings", fit_until_late)
    limit = 9
    assert count_scores() == 2, "four pairs"
    limit = 5
    assert count_scores() == 0, "two pairs are too few"


def _count_cars(n_countries=20, n_years=8, seed=0):
    """Return a panel: each country has a level of its own, which its income and its price tell only in part."""
    random = np.random.default_rng(seed)
    country = np.repeat(np.arange(n_countries), n_years)
    income, price, level = (random.normal(size=n_countries)[country] for _ in range(3))
    frame = pandas.DataFrame(
        {
            "country": [f"country {chr(65 + place)}" for place in country],
            "income": income + 0.03 * random.normal(size=len(country)),
            "price": price + 0.03 * random.normal(size=len(country)),
            "Weight": income + 2 * level + 0.1 * random.normal(size=len(country)),
        }
    )
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def test_countries_are_answered_for_known_ones_and_for_new_ones():
    frame = _count_cars()
    new = frame["country"].isin([f"country {letter}" for letter in "ABCD"])
    study = mercer.run(
        frame[~new].reset_index(drop=True), "Weight", quick=True, candidates=["ridge regression", "one tree"]
    )
    other, sure = study.record.other, study.record.sureness
    assert study.record.question.splits == "5 folds"
    assert (other.column, other.option) == ("country", "--group country")
    assert len(other.known) == 16
    assert other.score < sure.score - 0.1
    assert "on new rows with known values of `country`" in study.record.answer
    assert "on rows with new values of `country`" in study.record.answer
    assert "For rows with new values of `country`, give --group country." in study.record.findings[0]
    # Rows of new countries get the wider intervals of new countries, and those of known ones keep theirs.
    answers = study.predict(frame, coverage=0.8)
    width = (answers["high"] - answers["low"]).to_numpy()
    assert width[new].min() > 1.5 * width[~new].max()
    inside = (answers["low"] <= frame["Weight"]) & (frame["Weight"] <= answers["high"])
    assert inside[~new].mean() >= 0.75


def test_panels_are_things_that_other_columns_give_away():
    frame = _count_cars()
    colours = np.array(list("rgbyk"))[np.random.default_rng(0).integers(0, 5, len(frame))]
    table = read_table(frame.assign(colour=colours))
    assert find_panels(table, guess_roles(table, target="Weight")[0]) == ["country"]


def test_errors_of_few_groups_stand_beside_the_variance_of_all_rows():
    # Rows of one group hardly differ, so that beside its own variance any error would be an R2 far below -100.
    random = np.random.default_rng(0)
    level = random.normal(size=12)
    frame = pandas.DataFrame(
        {"key_id": np.repeat(np.arange(12), 10), "a": np.repeat(level, 10) + 0.3 * random.normal(size=120)}
    )
    frame["Weight"] = np.repeat(level, 10) + 0.001 * random.normal(size=120)
    record = _run(frame, "Weight", group="key_id")
    assert 0.5 < record.sureness.score < 1.0


def test_an_order_in_the_file_without_a_date_is_told():
    random = np.random.default_rng(1)
    walk = np.cumsum(random.normal(size=600))
    frame = pandas.DataFrame({"wind": walk + 0.3 * random.normal(size=600), "Weight": np.sin(walk / 3)})
    table = read_table(frame)
    assert not follows_a_sort(table)
    record = _run(frame, "Weight", candidates=["one tree"])
    assert record.question.splits == "3 folds"
    asked = [notice for notice in record.data.notices if notice.subject == "the order of the rows"]
    assert "on rows that come later in the file" in asked[0].text
    # Sorted rows, and rows in blocks of equal values, have no times.
    assert follows_a_sort(read_table(frame.sort_values("wind").assign(wind=lambda rows: rows["wind"].round(1))))
    assert follows_a_sort(read_table(frame.assign(kind=np.repeat(list("abc"), 200))))


def test_scores_that_waver_in_time_are_told_although_their_mean_is_the_same():
    metric = dependence.find_metric(None, "regression")
    steady, wavering = np.array([0.85, 0.86, 0.84, 0.85]), np.array([0.78, 0.92, 0.80, 0.90])
    probe = dependence._Probe("time", "day", metric, steady, wavering)
    assert probe.wavers
    assert not probe.depends
    assert "from 0.78 to 0.92 in single periods" in probe.describe(False).text
    assert not dependence._Probe("time", "day", metric, steady, steady[::-1]).wavers
