"""Inputs that name things, such as countries, and carry the level of the target are told from ordinary categories."""

import numpy as np
import pandas
import pytest

import mercer
from mercer._source.table import read_table
from mercer.app.options import Options
from mercer.app.study.choice import dependence
from mercer.app.study.choice.dependence import find_dependence
from mercer.app.study.dataset import gather
from mercer.app.table import guess_roles
from mercer.app.table.panels import find_level_keys, measure_level

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
ORDINARY = {
    "colour": list("DEFGHIJ"),
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "sex": ["female", "male"],
    "weekday": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    "month": MONTHS,
    "region": [f"region {place}" for place in range(10)],
}


def _burn_gas(seed=0, n_countries=18, n_years=19):
    """Return a panel whose other columns hardly depend on the country."""
    random = np.random.default_rng(seed)
    country, year = np.repeat(np.arange(n_countries), n_years), np.tile(1960 + np.arange(n_years), n_countries)
    income, price, level = random.normal(size=len(year)), random.normal(size=len(year)), random.normal(size=n_countries)
    gas = 4 + level[country] + 0.05 * (income - price) + 0.01 * (year - 1970) + 0.1 * random.normal(size=len(year))
    names = [f"country {chr(65 + place)}" for place in country]
    return pandas.DataFrame({"country": names, "year": year, "income": income, "price": price, "gas": gas})


def _sell(seed, n_rows=600):
    """Return independent rows with ordinary categories, each with levels of its own."""
    random = np.random.default_rng(seed)
    columns, price = {}, random.normal(size=n_rows)
    for name, values in ORDINARY.items():
        drawn = random.integers(0, len(values), n_rows)
        columns[name], price = np.array(values)[drawn], price + random.normal(size=len(values))[drawn]
    numbers = {"rooms": random.integers(1, 8, n_rows), "carat": random.gamma(2, size=n_rows)}
    return pandas.DataFrame({**columns, **numbers, "gas": price + numbers["carat"]})


def _list_keys(frame):
    table = read_table(frame)
    return find_level_keys(table, guess_roles(table, target="gas")[0])


@pytest.mark.parametrize("shuffled", [False, True])
def test_both_questions_are_asked_of_a_balanced_panel(shuffled):
    frame = _burn_gas(1).sample(frac=1, random_state=0).reset_index(drop=True) if shuffled else _burn_gas(1)
    table = read_table(frame)
    roles, _ = guess_roles(table, target="gas")
    finding = find_dependence(table, roles, gather(table, roles), Options(n_jobs=1))
    assert (finding.other.kind, finding.other.name) == ("group", "country")
    known, new = (score.score for score in finding.scores)
    assert known > 0.9
    assert new < 0.5
    assert "ridge regression has an R\u00b2 of" in finding.notices[0].text


def test_both_answers_stand_in_the_first_sentence():
    study = mercer.run(_burn_gas(), "gas", quick=True, candidates=["ridge regression"])
    assert "on new rows with known values of `country`" in study.record.answer
    assert "on rows with new values of `country`" in study.record.answer
    assert study.record.other.score < 0.5 < study.record.sureness.score


def test_a_difference_is_told_where_there_was_no_time_for_the_chosen_model(monkeypatch):
    from mercer.app.study import engine

    monkeypatch.setattr(engine, "answer_other", lambda *given: None)
    study = mercer.run(_burn_gas(), "gas", quick=True, candidates=["ridge regression"])
    assert study.record.findings[0].startswith("Rows with the same `country` resemble each other: ridge regression")


def test_classes_have_a_level_too():
    frame = _burn_gas(2)
    noise = np.random.default_rng(0).normal(size=len(frame))
    assert _list_keys(frame.assign(gas=np.where(frame["gas"] + noise > 4, "high", "low"))) == ["country"]


def test_many_things_with_few_rows_need_no_column_that_numbers_them():
    assert _list_keys(_burn_gas(3, 20, 6).drop(columns="year")) == ["country"]
    assert _list_keys(_burn_gas(3, 10, 12).drop(columns="year")) == [], "ten values are a property"


def test_ordinary_categories_and_independent_rows_are_no_things():
    # 900 tables of these kinds gave no false alarm; at 0.001 for each key one in a thousand may.
    assert sum(len(_list_keys(_sell(seed))) for seed in range(20)) == 0
    random = np.random.default_rng(0)
    alarms = 0
    for _ in range(40):
        columns = {f"of {k}": np.array([f"v{j}" for j in range(k)])[random.integers(0, k, 400)] for k in (5, 16, 40)}
        years = random.integers(1990, 2010, 400)
        alarms += len(_list_keys(pandas.DataFrame({**columns, "year": years, "gas": random.normal(size=400)})))
    assert alarms <= 2


def test_days_of_the_week_have_no_new_values():
    days = pandas.date_range("2020-01-06", periods=364)
    random = np.random.default_rng(0)
    gas = random.normal(size=364) + 3 * (days.day_of_week > 4) + random.normal(size=12)[days.month - 1]
    frame = pandas.DataFrame({"week": np.arange(364) // 7, "kind": days.day_name(), "part": days.month_name()})
    assert _list_keys(frame.assign(gas=gas)) == []


def test_the_intraclass_correlation_of_a_worked_example():
    # Ranks 1 2, 3 4, 5 6, 7 8, 9 10: B = 20, W = 0.5 and m = 2, so that it is 19.5 / 20.5, and P(F > 40) = 0.0005.
    frame = pandas.DataFrame({"key": list("aabbccddee"), "gas": np.arange(10.0)})
    roles = guess_roles(read_table(frame), target="gas", task="regression")[0]
    assert measure_level(frame, "key", roles) == pytest.approx(19.5 / 20.5)
    # Of three keys it is 7.5 / 8.5, but P(F > 16) = 0.025 is too much of a chance.
    assert measure_level(frame[:6], "key", roles) == 0.0


def test_a_level_is_found_although_the_time_is_nearly_over(monkeypatch):
    # However busy the machine of the test is, the seconds that such a comparison has at least are enough.
    monkeypatch.setattr(dependence, "_LEVEL_SECONDS", 600.0)
    table = read_table(_burn_gas(4))
    roles, _ = guess_roles(table, target="gas")
    finding = find_dependence(table, roles, gather(table, roles), Options(n_jobs=1), left=1e-3)
    assert finding.other.name == "country"


def test_a_thing_that_nearly_decides_the_target_is_asked_about_however_many_rows_it_has():
    random = np.random.default_rng(4)
    # Twenty first names with a hundred rows each give the sex away; a hundred rows of a city do not.
    name, city = random.integers(0, 20, 2000), random.integers(0, 20, 2000)
    frame = pandas.DataFrame({"first": [f"name {k}" for k in name], "city": [f"city {k}" for k in city]})
    other = random.random(2000) < 0.05
    frame["x"], frame["gas"] = random.normal(size=2000), np.array(["m", "f"])[(name + other) % 2]
    assert _list_keys(frame) == ["first"]


def test_each_of_a_hundred_countries_has_a_column_where_it_has_rows_enough():
    random = np.random.default_rng(6)
    country = np.repeat(np.arange(100), 30)
    member = random.integers(0, 2, 100)[country]
    frame = pandas.DataFrame({"country": [f"country {k}" for k in country], "value": random.normal(size=3000)})
    frame["member"] = np.array(["no", "yes"])[member]
    options = {"quick": True, "splits": "random", "keep_leaks": True, "candidates": ["logistic regression"]}
    study = mercer.run(frame, "member", **options)
    # The thirty largest countries alone would know 30 % of the rows, and guess the others.
    assert study.record.sureness.score > 0.99
