"""Studies of tables with a column of free texts."""

import runpy

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.command import main

QUICK = {"quick": True, "folds": 3, "inner": 2, "n_jobs": 1, "splits": "random"}


def _make_reviews(n: int = 120) -> pandas.DataFrame:
    """Texts of seven words, of which one tells whether the guest comes back."""
    rng = np.random.default_rng(0)
    again = rng.random(n) < 0.5
    filler = np.array(["room", "breakfast", "staff", "view", "bed", "street", "night", "bath", "door", "coffee"])
    texts = [
        " ".join([*rng.choice(filler, 6), rng.choice(["lovely", "quiet"] if good else ["dirty", "noisy"])])
        for good in again
    ]
    return pandas.DataFrame({"review": texts, "nights": rng.integers(1, 9, n), "again": np.where(again, "yes", "no")})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    frame = _make_reviews()
    frame.to_csv(folder / "reviews.csv", index=False)
    study = mercer.run(folder / "reviews.csv", "again", candidates=["logistic regression"], **QUICK)
    study.save(folder / "run")
    return folder, study


def test_texts_are_recognised_announced_and_used(place):
    _, study = place
    said = next(notice for notice in study.record.data.notices if notice.subject == "review")
    assert said.told
    assert (
        said.text
        == "The column holds texts of 7 words on average. Models use its most frequent words, weighted by TF-IDF."
    )
    assert study.record.sureness.score > 0.95
    assert study.record.drivers[0].column == "review"


def test_prediction_takes_new_texts(place, capsys):
    folder, _ = place
    pandas.DataFrame({"review": ["a dirty room", "lovely lovely view", ""], "nights": [1, 2, 3]}).to_csv(
        folder / "new.csv", index=False
    )
    assert main(["predict", str(folder / "run"), str(folder / "new.csv"), "-o", str(folder / "out.csv")]) == 0
    assert pandas.read_csv(folder / "out.csv")["prediction"].tolist()[:2] == ["no", "yes"]
    capsys.readouterr()


def test_texts_are_exported_to_python_but_not_to_onnx_and_watch_takes_them(place, capsys):
    folder, _ = place
    assert main(["export", str(folder / "run"), "--python", str(folder / "model.py")]) == 0
    space = runpy.run_path(str(folder / "model.py"))
    assert [space["predict"]({"review": text}) for text in ("a dirty room", "lovely lovely view")] == ["no", "yes"]
    assert main(["export", str(folder / "run"), "--onnx", str(folder / "model.onnx")]) == 2
    assert "column `review` is a text" in capsys.readouterr().err
    assert main(["watch", str(folder / "run"), str(folder / "reviews.csv")]) in (0, 3)


def test_a_text_can_be_given_another_role():
    record = mercer.run(_make_reviews(60), "again", ignore="review", candidates=["logistic regression"], **QUICK).record
    assert next(column for column in record.data.columns if column.name == "review").role == "ignored"
