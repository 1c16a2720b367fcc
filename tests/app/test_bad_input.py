"""Bad input: one sentence that says what to do, status 2, and no traceback; the sentences are held to the letter."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import mercer
from mercer.app.command import main
from mercer.cluster import KMeans
from mercer.linear_model import LogisticRegression
from mercer.preprocessing import TableEncoder

ROWS = "\n".join(f"{k % 7},{k * 0.5},{'ab'[k % 2]}" for k in range(60))
FORMATS = "CSV, TSV, Parquet, Arrow, Excel, JSON lines or SQLite"
FILES = {
    "letter.csv": (
        b"Dear all,\nthis is a letter, with commas, many of them.\nIt has lines.\nNo more, truly.\nBest, me\n",
        "this is not a table: no delimiter splits all lines into the same number of fields. Give --delimiter, or a "
        f"table as {FORMATS}.",
    ),
    "photo.csv": (b"\x89PNG\r\n\x1a\n" + bytes(99), f"this is not a table but an image. Give a table as {FORMATS}."),
    "page.csv": (b"<!doctype html><html></html>", f"this is not a table but a web page. Give a table as {FORMATS}."),
    "noise.csv": (
        bytes(range(256)),
        f"this is not a table but neither text nor a known format. Give a table as {FORMATS}.",
    ),
    "empty.csv": (b"\n", "the file is empty. Give a table with a line of column names and rows below it."),
    "names.csv": (b"a,b,y\n", "the table has column names but no rows. Give a table with rows."),
    "wide.csv": (
        ",".join(f"c{k}" for k in range(1_000_000)) + "\n" + "1," * 999_999 + "1\n",
        "a table may have at most 20000 columns; got 1000000. Name those to read with --columns.",
    ),
    "ragged.csv": (
        "a,b,y\n" + ROWS + "\n1,2,3,4,5" * 11,
        "11 of 71 lines do not have as many fields as the first line (3); most have 5. Give --delimiter, or quote "
        "values that hold the delimiter.",
    ),
    "torn.parquet": (
        b"PAR1" + bytes(40),
        "the file is damaged (Parquet magic bytes not found in footer. Either the file is corrupted or this is not a "
        "parquet file.). Write it again.",
    ),
}
OPTIONS = [
    (
        "--delimiter ;",
        "t.csv: the delimiter ';' gives one column; ',' would give 3. Give --delimiter ',', or leave it out.",
    ),
    ("--delimiter ;;", "t.csv: --delimiter must be one character; got ';;'. Leave it out to have it guessed."),
    ("--encoding klingon", "t.csv: --encoding must be an encoding that Python knows; got 'klingon'. Try utf-8."),
    ("--encoding ascii", "t.csv: the file is not encoded in ascii. Leave out --encoding to have it guessed."),
    ("--target Y", "t.csv: there is no column `Y`; the columns are `ä`, `b`, `y`. Did you mean `y`?"),
    ("--columns b,z", "t.csv: there is no column `z`; the columns are `ä`, `b`, `y`. Correct --columns."),
    ("--number b --ignore b", "column `b` is given two roles, number and ignored. Leave one out."),
    ("--number y", "t.csv: `y` is the target, so that --number cannot name it too."),
    (
        "--costs a=3",
        "--costs must be costs per action and class, such as yes/no=1,no/yes=20; got 'a=3'.",
    ),
    ("--costs a/q=3", "costs name the class `q`, but the classes are a, b. Correct the name."),
    ("--folds many", "--folds must be a whole number; got 'many'."),
    ("--budget soon", "--budget must be a duration longer than 0, such as 60s, 5m or 1.5h; got 'soon'."),
    ("--task guess", "--task must be one of classification, regression, structure; got 'guess'."),
    ("--example clusters", "a table (t.csv) and --example cannot both be given. Leave one out."),
    ("--config no.toml", "no.toml: there is no such file. Give --config the path of a TOML file."),
]


def refused(capsys, *words):
    """What a command says as it ends with status 2."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    # A study tells that it reads the table before it finds what is wrong with it.
    error = said.err.removeprefix("mercer: reading the table\n") if "run" in words else said.err
    assert error.startswith("mercer: ")
    assert error.count("\n") == 1
    return error.removeprefix("mercer: ").rstrip("\n")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_usable_table(name, here, capsys):
    content, words = FILES[name]
    (here / name).write_bytes(content.encode() if isinstance(content, str) else content)
    assert refused(capsys, "run", name, "--target", "y") == f"{name}: {words}"


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=[one for one, _ in OPTIONS])
def test_an_option_that_does_not_fit_the_table(options, words, here, capsys):
    (here / "t.csv").write_text(f"ä,b,y\n{ROWS}", encoding="utf-8")
    target = [] if "--target" in options else ["--target", "y"]
    assert refused(capsys, "run", "t.csv", *target, *options.split()) == words


def test_a_file_or_a_folder_that_is_not_there_or_holds_nothing(here, capsys):
    assert refused(capsys, "run", "no.csv") == (
        f"no.csv: there is no such file. Give the path of a table ({FORMATS}), or - for standard input."
    )
    (here / "bare").mkdir()
    assert refused(capsys, "run", "bare") == (
        "bare: the folder holds no Parquet files. Give a file, or a folder of *.parquet."
    )
    assert refused(capsys, "report", "no") == (
        "no: there is no record. Give the folder that `mercer run` wrote, which holds run.json."
    )


def test_a_configuration_that_cannot_be_meant(here, capsys):
    for text, words in (
        ("target = 3", "target must be the name of a column, or a list of them; got 3."),
        (
            "target =",
            "not a TOML file (Invalid value (at end of document)). Write each option as name = value, and put texts in "
            "quotes.",
        ),
        ("quick = 1", "quick must be true or false; got 1."),
        ("targt = 1", "there is no option `targt`. Did you mean `target`?"),
    ):
        (here / "c.toml").write_text(text, encoding="utf-8")
        assert refused(capsys, "run", "t.csv", "--config", "c.toml") == f"c.toml: {words}"


def test_words_that_the_parser_does_not_know(here, capsys):
    assert refused(capsys, "run", "t.csv", "--budg", "5m") == "run has no option --budg. Did you mean --budget?"
    assert refused(capsys, "run", "--xyzzy=1") == "run has no option --xyzzy. See: mercer run --help"
    assert refused(capsys, "run", "t.csv", "u.csv") == (
        "run takes no further argument; got 'u.csv'. See: mercer run --help"
    )


@pytest.fixture
def model(here):
    import pandas

    frame = pandas.DataFrame({"age": np.arange(40.0), "city": ["u", "v"] * 20})
    pipeline = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, np.arange(40) > 20)
    mercer.save(pipeline, here / "model.mercer")
    return here / "model.mercer"


def test_a_table_that_lacks_what_the_model_needs(model, here, capsys):
    (here / "new.csv").write_text("town,weight\nu,3\n", encoding="utf-8")
    assert refused(capsys, "predict", model, "new.csv") == (
        "new.csv: the model needs columns `age`, `city`, which the table does not have; its columns are `town`, "
        "`weight`. Add them, or give another table."
    )
    (here / "new.csv").write_text("age,city\n3,u\n", encoding="utf-8")
    assert refused(capsys, "predict", model, "new.csv", "-o", "out.txt") == (
        "out.txt: the ending must be one of .csv, .tsv, .parquet, .pq, .arrow, .feather, .jsonl, .ndjson. "
        "Give -o another name."
    )
    assert refused(capsys, "explain", model, "new.csv", "--row", "2") == "new.csv: --row must be from 1 to 1; got 2."
    assert refused(capsys, "predict", model, "new.csv", "--with", "id") == (
        "new.csv: there is no column `id`; the columns are `age`, `city`."
    )


def test_a_model_of_another_kind_is_no_model_of_a_run(model, here, capsys):
    mercer.save(KMeans(2).fit(np.random.default_rng(0).random((9, 2))), here / "groups.mercer")
    assert refused(capsys, "predict", "groups.mercer", "new.csv") == (
        "groups.mercer: the file holds KMeans, which does not know the columns of a table. Give the model.mercer that "
        "`mercer run` wrote, or use mercer.load in Python."
    )
    (here / "torn.mercer").write_bytes(model.read_bytes()[:-30])
    assert refused(capsys, "predict", "torn.mercer", "new.csv").startswith("load: torn.mercer: a model file is a zip")
    assert refused(capsys, "predict", "no.mercer", "new.csv") == (
        "no.mercer: there is no such file. Give the model.mercer that `mercer run` wrote."
    )


def test_what_is_new_or_missing_at_predict_time_is_no_error(model, here, capsys):
    (here / "new.csv").write_text("id,city,age\n1,Atlantis,\n2,u,old\n3,,5\n", encoding="utf-8")
    assert main(["predict", str(model), "new.csv", "--with", "id"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 4
    assert said.err.splitlines() == [
        "mercer: warning: age: 1 of 2 values is not a number (`old`) and counts as missing.",
        "mercer: warning: city: 1 row has a value that no training row had: `Atlantis`. The model treats it as an "
        "unknown value.",
    ]


def test_machines_get_the_sentence_as_json_too(here, capsys):
    assert main(["run", "no.csv", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"].startswith("no.csv: there is no such file.")


def test_a_study_without_a_model_says_so_when_it_is_used(here, capsys):
    (here / "few.csv").write_text("a,b\n1,x\n2,y\n3,x\n", encoding="utf-8")
    assert main(["run", "few.csv", "--target", "b", "-o", "few", "--quiet"]) == 1
    assert refused(capsys, "predict", "few", "few.csv") == (
        "few: the study has no model; its report says why. Run the study again with another table."
    )
