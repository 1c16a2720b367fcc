"""Numbers, dates and missing values as people write them are read as meant, and the record says so."""

import numpy as np
import pandas
import pytest

import mercer
from mercer._source.table import read_table
from mercer.app.command import main
from mercer.app.table import guess_roles
from mercer.errors import DataError
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.numerals import read_numeral

NUMBERS = np.random.default_rng(0).integers(1, 10**6, 40)
# How each number is written, and which number is meant.
WRITTEN = {
    "dollars": ([f"${k:,}" for k in NUMBERS], NUMBERS, "without `$`"),
    "euros": ([f"€{k // 100:,}".replace(",", ".") + f",{k % 100:02}" for k in NUMBERS], NUMBERS / 100, "without `€`"),
    "kronor": ([f"{k} SEK" for k in NUMBERS], NUMBERS, "without `SEK`"),
    "per cent": ([f"{k / 1e4:.1f}%" for k in NUMBERS], np.round(NUMBERS / 1e4, 1), "without `%`"),
    "kilograms": ([f"{k / 100} kg" for k in NUMBERS], NUMBERS / 100, "without `kg`"),
    "days": ([f"{k % 9} day{'s' * int(k % 9 != 1)}" for k in NUMBERS], NUMBERS % 9, "without `day`"),
    "thousands": ([f"{k:,}" for k in NUMBERS], NUMBERS, "read as numbers"),
    "thin spaces": ([f"{k:,}".replace(",", "\u202f") for k in NUMBERS], NUMBERS, "read as numbers"),
    "debts": ([f"({k:,})" for k in NUMBERS], -NUMBERS, "read as numbers"),
    "decimal commas": ([f"{k / 100:.2f}".replace(".", ",") for k in NUMBERS], NUMBERS / 100, "read as numbers"),
}
DAYS = pandas.to_datetime("2011-01-01") + pandas.to_timedelta(NUMBERS % 3000, unit="D")
FORMS = [
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%y",
    "%d-%b-%y",
    "%b %d %Y",
    "%Y.%m.%d",
    "%m/%d/%Y %I:%M %p",
    "%Y-%m-%dT%H:%M:%SZ",
]


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_written_number_is_read_and_said(kind):
    texts, numbers, words = WRITTEN[kind]
    table = read_table(pandas.DataFrame({"x": texts, "y": range(40)}))
    np.testing.assert_allclose(table.frame["x"], numbers)
    notice = next(notice for notice in table.notices if notice.subject == "x")
    assert words in notice.text
    assert "--category x" in notice.cure
    kept = read_table(pandas.DataFrame({"x": texts}), kinds={"x": "category"})
    assert kept.frame["x"].tolist() == texts


@pytest.mark.parametrize("form", FORMS)
def test_dates_in_many_formats_are_dates(form):
    table = read_table(pandas.DataFrame({"x": DAYS.strftime(form), "y": range(40)}))
    assert table.frame["x"].dtype.kind == "M"
    assert (table.frame["x"].dt.normalize() == DAYS).all()


def test_what_is_no_number_stays_text():
    for texts in (["A12", "B7", "C99"], ["10.0.0.1", "192.168.1.1", "8.8.8.8"], ["12:30", "9:05", "17:45"], ["2020Q1"]):
        table = read_table(pandas.DataFrame({"x": texts * 10}))
        assert table.frame["x"].dtype.kind not in "ifM", texts
    mixed = read_table(pandas.DataFrame({"x": ["3 kg", "400 g", "5 kg"] * 10}))
    assert mixed.notices[0].text.startswith("The values are numbers with different units (`kg`, `g`).")


def test_the_decimal_mark_and_the_order_of_days_and_months_can_be_given():
    frame = pandas.DataFrame({"x": ["1,234", "5,678", "9,012"] * 10, "d": ["3/4/2020", "5/6/2021", "7/8/2022"] * 10})
    assert read_table(frame).frame["x"].iloc[0] == 1234.0
    table = read_table(frame, decimal="comma", day_first=True)
    assert table.frame["x"].iloc[0] == 1.234
    assert table.frame["d"].iloc[0] == pandas.Timestamp(2020, 4, 3)
    assert "--day-first" in next(notice.cure for notice in read_table(frame).notices if notice.subject == "d")


def test_a_value_that_may_mean_a_missing_one_is_said_and_can_be_given():
    gone = np.arange(40) % 7 == 0
    frame = pandas.DataFrame({"x": np.where(gone, -999, NUMBERS % 50), "y": range(40)})
    notice = next(notice for notice in read_table(frame).notices if notice.subject == "x")
    assert notice.text.startswith("The value -999 occurs")
    assert notice.advice == "Give --missing -999 to count it as missing."
    table = read_table(frame, missing=["-999"])
    assert table.frame["x"].isna().sum() == gone.sum()
    assert not table.notices
    assert not read_table(pandas.DataFrame({"x": [-1, 0, 1, 2] * 10})).notices


def test_digits_that_are_codes_keep_their_zeros(tmp_path):
    rows = "\n".join(f"{k % 9:05},{10**24 + k},{k % 7},{'ab'[k % 2]}" for k in range(60))
    (tmp_path / "t.csv").write_text(f"zip,serial,x,y\n{rows}\n", encoding="utf-8")
    table = read_table(tmp_path / "t.csv")
    assert table.frame["zip"].iloc[1] == "00001"
    assert table.frame["serial"].iloc[1] == str(10**24 + 1)
    assert [notice.subject for notice in table.notices] == ["zip", "serial"]
    roles, notices = guess_roles(table, target="y")
    assert {column.name: column.role for column in roles.columns}["zip"] == "category"
    unused = next(notice for notice in notices if notice.subject == "the columns")
    assert unused.text == "Not used: `serial` (a different text in almost every row)."
    assert unused.advice == "Give --keep serial to use it."
    assert unused.told
    assert read_table(tmp_path / "t.csv", kinds={"zip": "number"}).frame["zip"].dtype.kind in "if"


def test_dates_without_marks_are_said_and_can_be_given():
    frame = pandas.DataFrame({"x": DAYS.strftime("%Y%m%d").astype(int)})
    assert read_table(frame).notices[0].advice == "Give --date x to read them as dates."
    assert (read_table(frame, kinds={"x": "date"}).frame["x"] == DAYS).all()


def test_the_encoder_reads_written_numbers_by_their_form():
    frame = pandas.DataFrame({"x": ["€1.234", "€5,50", None, "unknown"]})
    encoder = TableEncoder({"x": "number 1.234,5"}, missing="keep").fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame)[:, 0], [1234.0, 5.5, np.nan, np.nan])
    with pytest.raises(DataError, match="must be one of number"):
        TableEncoder({"x": "number 12"}).fit(frame)
    assert np.isnan(read_numeral("12 kg of", "1234.5"))


def test_a_model_reads_new_rows_as_it_read_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    price = random.integers(1000, 9000, 60)
    frame = pandas.DataFrame({"price": [f"€{k // 1000}.{k % 1000:03},00" for k in price], "z": random.random(60)})
    frame["y"] = np.where(price > 5000, "dear", "cheap")
    frame.loc[::7, "y"] = "cheap"
    study = mercer.run(frame, "y", quick=True, folds=3, inner=2, candidates=["nearest centroid"])
    assert study.record.question.classes == ["cheap", "dear"]
    study.save("report")
    # Alone, "€8.900" might be 8.9; the model knows that the point separates thousands.
    (tmp_path / "new.csv").write_text('price,z,fee\n"€8.900",0.5,$10\n"€1.100",0.5,$20\n', encoding="utf-8")
    assert main(["predict", "report", "new.csv", "--with", "fee"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0].strip('"') for line in said[1:]] == ["$10", "$20"], "copied as they are"
    assert main(["predict", "report", "new.csv"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0].strip('"') for line in said[1:]] == ["dear", "cheap"]
    assert study.model.predict(pandas.DataFrame({"price": ["€8.900"], "z": [0.5]})).tolist() == ["dear"]
