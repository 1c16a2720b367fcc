"""What each column is for: guessed with a reason, overridden by name, and refused where nothing can be learnt."""

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from mercer._source.table import read_table
from mercer.app.table import guess_roles
from mercer.errors import DataError

N = 300


def table_of(**columns):
    return read_table(pandas.DataFrame(columns))


def roles_of(table, **options):
    roles, notices = guess_roles(table, **options)
    return {column.name: column.role for column in roles.columns}, notices


@pytest.fixture(scope="module")
def shop():
    random = np.random.default_rng(0)
    late = random.choice(["yes", "no"], N, p=[0.2, 0.8])
    return table_of(
        customer_id=np.arange(N) + 7,
        name=[f"customer {k}" for k in range(N)],
        shop_id=random.integers(0, 60, N),
        age=random.integers(18, 90, N),
        paid=random.normal(50, 9, N),
        city=random.choice(["Ulm", "Bonn", None], N),
        since=pandas.date_range("2020-01-01", periods=N),
        same=np.ones(N),
        gone=[None] * N,
        rare=[1.0 if k < 3 else None for k in range(N)],
        comment=[f"the {k}th customer said very many words" for k in range(N)],
        member=random.random(N) < 0.5,
        reminder=np.where(late == "yes", 2 + random.random(N), random.random(N)),
        late=late,
    )


def test_each_column_gets_the_role_that_its_values_and_name_suggest(shop):
    found, _ = roles_of(shop, target="late")
    assert found == {
        "customer_id": "id",
        "name": "id",
        "shop_id": "id",
        "age": "number",
        "paid": "number",
        "city": "category",
        "since": "date",
        "same": "constant",
        "gone": "constant",
        "rare": "ignored",
        "comment": "text",
        "member": "category",
        "reminder": "leak",
        "late": "target",
    }
    roles, _ = guess_roles(shop, target="late")
    assert roles.features == list(roles.kinds) == ["age", "paid", "city", "since", "comment", "member"]
    by_name = {column.name: column for column in roles.columns}
    assert by_name["customer_id"].reason == "a different whole number in every row"
    assert by_name["city"].missing == shop.frame["city"].isna().sum()
    assert sum(by_name["paid"].counts) == N
    assert len(by_name["paid"].edges) == len(by_name["paid"].counts) + 1
    assert by_name["reminder"].association > 0.98


def test_what_was_left_out_is_said_with_the_way_to_keep_it(shop):
    _, notices = roles_of(shop, target="late")
    said = {notice.subject: notice for notice in notices}
    assert said["reminder"].level == "danger"
    assert said["reminder"].cure == "give --keep reminder if its value is known before the outcome"
    assert said["shop_id"].cure == "give --group shop_id if rows with the same value belong together, or --keep shop_id"
    assert said["rare"].text == "99.0 % of the values are missing. The column is not used."


def test_every_guess_can_be_overridden(shop):
    given = {"age": "category", "reminder": "keep", "customer_id": "number", "paid": "ignored", "rare": "keep"}
    found, notices = roles_of(shop, target="late", group="shop_id", given=given)
    assert (found["age"], found["reminder"], found["customer_id"]) == ("category", "number", "number")
    assert (found["paid"], found["rare"], found["shop_id"]) == ("ignored", "number", "group")
    assert [notice.level for notice in notices if notice.subject == "reminder"] == ["warning"]
    assert roles_of(shop, target="late", keep_leaks=True)[0]["reminder"] == "number"


def test_no_column_of_the_well_known_tables_is_taken_for_a_leak():
    for load in (load_iris, load_wine, load_breast_cancer, load_diabetes):
        roles, _ = guess_roles(read_table(load(as_frame=True).frame), target="target")
        assert all(column.role in ("number", "target") for column in roles.columns), load.__name__


def test_a_copy_of_a_number_and_an_exact_map_of_categories_are_leaks():
    random = np.random.default_rng(0)
    price = random.lognormal(3, 1, N)
    table = table_of(
        price=price, cents=np.round(price * 100), noise=random.normal(size=N), size=price + random.normal(0, 9, N)
    )
    assert roles_of(table, target="price")[0] == {
        "price": "target",
        "cents": "leak",
        "noise": "number",
        "size": "number",
    }
    kind = random.integers(0, 3, N)
    table = table_of(kind=np.array(["a", "b", "c"])[kind], code=np.array(["x1", "x2", "x3"])[kind], n=random.random(N))
    assert roles_of(table, target="kind")[0]["code"] == "leak"


def test_huge_numbers_and_close_moments_are_told_apart():
    random = np.random.default_rng(0)
    late = random.random(N) < 0.5
    table = table_of(y=late, huge=np.where(late, 1e300, 1e299), x=random.random(N))
    assert roles_of(table, target="y")[0]["huge"] == "leak"
    moments = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(
        late.astype(int) * 600 + random.integers(0, 500, N), "s"
    )
    assert roles_of(table_of(y=late, when=moments, x=random.random(N)), target="y")[0]["when"] == "leak"


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] * 30, "classification"),
        ([True, False] * 30, "classification"),
        ([0, 1] * 30, "classification"),
        ([1.0, 2.0, 3.0] * 20, "classification"),
        ([0.5, 1.5, 2.5] * 20, "regression"),
        (list(range(0, 120, 2)), "regression"),
        ([k % 12 for k in range(60)], "regression"),
    ],
)
def test_the_task_follows_from_the_target(values, task):
    roles, _ = guess_roles(table_of(y=values, x=np.random.default_rng(0).random(60)), target="y")
    assert roles.task == task


def test_whole_numbers_taken_for_classes_are_said_and_can_be_had_as_numbers():
    table = table_of(stars=[1, 2, 3] * 20, x=np.random.default_rng(0).random(60))
    _, notices = roles_of(table, target="stars")
    assert notices[0].cure == "give --task regression to predict it as a number"
    assert guess_roles(table, target="stars", task="regression")[0].task == "regression"


def test_without_a_target_the_task_is_structure_and_a_likely_target_is_named():
    roles, notices = guess_roles(table_of(x=np.random.default_rng(0).random(60), churn=["a", "b"] * 30))
    assert (roles.task, roles.target) == ("structure", None)
    assert notices[0].cure == "give --target churn to predict it"


def test_missing_targets_and_rare_classes_are_said():
    random = np.random.default_rng(0)
    y = ["a"] * 40 + ["b"] * 12 + [None] * 8
    _, notices = roles_of(table_of(y=y, x=random.random(60)), target="y")
    assert notices[0].text == "The target is missing in 8 of 60 rows. They are not used."
    _, notices = roles_of(table_of(y=["a"] * 55 + ["b"] * 5, x=random.random(60)), target="y")
    assert notices[0].text == "The class `b` has only 5 rows, so that its scores are very uncertain."


ERRORS = [
    (
        {"y": ["a", "b"] * 30},
        {"target": "z"},
        "there is no column `z`; the columns are `y`, `x`. Give --target one of them.",
    ),
    (
        {"yes": ["a", "b"] * 30},
        {"target": "yess"},
        "there is no column `yess`; the columns are `yes`, `x`. Did you mean `yes`?",
    ),
    (
        {"y": [k // 2 for k in range(60)]},
        {"target": "y", "task": "tasty"},
        "--task must be one of classification, regression, structure; got 'tasty'.",
    ),
    (
        {"y": ["a", "b"] * 30},
        {"target": "y", "task": "regression"},
        "target `y` must hold numbers for regression; got values such as `a`. Leave out --task, or choose another "
        "column.",
    ),
    ({"y": [1, 2] * 30}, {"task": "regression"}, "regression needs a target. Give --target NAME."),
    (
        {"y": [1, 2] * 30},
        {"target": "y", "task": "structure"},
        "a study of structure has no target. Leave out --target y or --task.",
    ),
    (
        {"y": pandas.date_range("2020-01-01", periods=60)},
        {"target": "y"},
        "target `y` must be numbers or classes; got dates. Choose another column.",
    ),
    (
        {"y": [1, 2] * 30, "w": [-1.0] * 60},
        {"target": "y", "weight": "w"},
        "weight `w` must hold numbers of at least 0 in every row. Choose another column.",
    ),
    (
        {"y": [1, 2] * 30, "t": ["x", "y"] * 30},
        {"target": "y", "time": "t"},
        "time `t` must hold a date or a number in every row. Choose another column.",
    ),
    (
        {"y": [1, 2] * 30, "t": ["x", "y"] * 30},
        {"target": "y", "given": {"t": "number"}},
        "column `t` must hold numbers; got values such as `x`. Give --category.",
    ),
]


@pytest.mark.parametrize(("columns", "options", "words"), ERRORS, ids=range(len(ERRORS)))
def test_what_cannot_be_studied_is_refused_in_a_sentence(columns, options, words):
    with pytest.raises(DataError) as caught:
        guess_roles(table_of(**columns, x=np.random.default_rng(0).random(60)), **options)
    assert str(caught.value) == f"frame: {words}"


OBSTACLES = [
    ({"y": [None] * 60}, {"target": "y"}, "the target `y` is missing in every row. Choose another column."),
    (
        {"y": [3] * 60},
        {"target": "y"},
        "the target `y` must have at least two values; every row has `3`. Choose another column.",
    ),
    (
        {"y": [f"k{k}" for k in range(60)]},
        {"target": "y"},
        "the target `y` has a different value in every row, like an id, so that it cannot be predicted. Choose "
        "another column.",
    ),
    (
        {"y": range(60)},
        {"target": "y"},
        "the target `y` has a different value in every row, like an id, so that it cannot be predicted. Choose "
        "another column.",
    ),
    (
        {"y": [f"k{k // 2}" for k in range(420)]},
        {"target": "y"},
        "the target `y` may have at most 200 classes; got 210. Merge classes, or choose another column.",
    ),
    (
        {"y": [1, 2] * 30},
        {"target": "y", "given": {"x": "ignored"}},
        "no column is left to predict from (left out: `x`). Give --keep x.",
    ),
    ({"y": [1, 2, 1] * 3}, {"target": "y"}, "a study needs at least 10 rows; got 9. Add rows."),
    ({"y": [1, 2, 1] * 3}, {}, "a study needs at least 10 rows; got 9. Add rows."),
    (
        {"y": [1, 2, 1, None] * 3},
        {"target": "y"},
        "a study needs at least 10 rows; got 9 where the target is known. Add rows.",
    ),
]


@pytest.mark.parametrize(("columns", "options", "words"), OBSTACLES, ids=range(len(OBSTACLES)))
def test_what_cannot_be_predicted_has_an_obstacle_and_every_column_a_role(columns, options, words):
    table = table_of(**columns, x=np.random.default_rng(0).random(len(columns["y"])))
    found, _ = guess_roles(table, **options)
    assert found.obstacle == words
    assert [column.name for column in found.columns] == ["y", "x"]


def test_a_leak_among_thousands_of_columns_is_found_without_measuring_all_of_them_three_times(monkeypatch):
    random = np.random.default_rng(0)
    from sklearn.tree import DecisionTreeClassifier

    from mercer.app.table import association

    fits = []
    fit = DecisionTreeClassifier.fit
    monkeypatch.setattr(DecisionTreeClassifier, "fit", lambda *given, **named: fits.append(1) or fit(*given, **named))
    monkeypatch.setattr(association, "_MANY_COLUMNS", 20)
    kind = np.where(np.arange(90) % 3 == 0, "yes", "no")
    noise = {f"x{place}": random.normal(size=90) for place in range(40)}
    found, _ = roles_of(table_of(**noise, copy=(kind == "yes") + 0.1 * random.random(90), kind=kind), target="kind")
    assert [name for name, role in found.items() if role == "leak"] == ["copy"]
    # One fit for each column of noise, and four for the leak: its first fold is measured twice.
    assert len(fits) == 44


@pytest.mark.parametrize("order", ["file", "shuffled"])
def test_a_first_column_without_a_name_that_numbers_the_rows_is_an_id_whatever_its_gaps(tmp_path, order):
    random = np.random.default_rng(0)
    rows = np.flatnonzero(random.random(300) < 0.5) + 1
    if order == "shuffled":
        random.shuffle(rows)
    path = tmp_path / "half.csv"
    path.write_text(",size,price\n" + "".join(f"{i},{random.random():.3f},{random.random():.3f}\n" for i in rows))
    roles, notices = guess_roles(read_table(path), target="price")
    assert roles.features == ["size"]
    assert "`column_1` (a column without a name that numbers the rows)" in " ".join(one.text for one in notices)
    # Numbers that neither rise nor fill their range are measurements.
    amounts = random.choice(10**6, size=len(rows), replace=False)
    path.write_text(",size,price\n" + "".join(f"{i},{random.random():.3f},{random.random():.3f}\n" for i in amounts))
    assert guess_roles(read_table(path), target="price")[0].features == ["column_1", "size"]


def test_a_target_whose_squares_overflow_and_an_address_for_a_path_are_refused_with_a_cure():
    frame = pandas.DataFrame({"x": np.arange(30) % 7, "y": np.linspace(-1.0, 1.0, 30) * 1e300})
    roles = guess_roles(read_table(frame), target="y")[0]
    assert "must have values up to 1e+150, whose squares can be summed; got 1e+300" in roles.obstacle
    with pytest.raises(DataError, match="a table must be a file; mercer downloads nothing"):
        read_table("https://example.org/table.csv")


def test_of_many_columns_of_numbers_only_those_that_bins_do_not_rule_out_get_a_tree():
    from mercer.app.table import association

    random = np.random.default_rng(0)
    y = np.sort(random.normal(size=600)).argsort().astype(float)
    folded = np.where(y < 300, y, 600 - y)
    shares = {
        name: association._explain_by_bins(x, y) for name, x in {"noise": random.normal(size=600), "y": y}.items()
    }
    assert shares["noise"] < 0.05
    assert shares["y"] > 0.99
    # A leak need not be monotone in either direction.
    assert association._explain_by_bins(y, folded) > 0.9
    missing = np.where(np.arange(600) < 300, np.nan, y)
    assert association._explain_by_bins(missing, (y >= 300).astype(float)) > 0.9


@pytest.mark.parametrize(("n_rows", "role"), [(40, "category"), (4, "id")])
def test_ids_that_recur_in_many_rows_are_categories_and_others_identify_things(n_rows, role):
    random = np.random.default_rng(0)
    species, plot = np.repeat(np.arange(30), 2 * n_rows), np.tile(np.arange(100, 130), 2 * n_rows)
    frame = pandas.DataFrame({"species_id": [f"S{k}" for k in species], "plot_id": plot})
    frame["x"], frame["weight"] = random.normal(size=len(frame)), random.normal(size=len(frame))
    roles, notices = guess_roles(read_table(frame), target="weight")
    assert {column.name: column.role for column in roles.columns}["species_id"] == role
    assert {column.name: column.role for column in roles.columns}["plot_id"] == role
    told = [notice.text for notice in notices if notice.subject == "plot_id"]
    assert len(told) == 1
    assert told[0].endswith("It is used as a category." if role == "category" else "It is not used.")
