"""The sentences of a study: first the answer, then how good, what drives it, what to worry about, what to do next."""

from dataclasses import replace

import pytest

from mercer._source.table.table import Notice
from mercer.app.commands.run import _print_answer
from mercer.app.study.answer import write_answer, write_findings
from mercer.app.study.formatting import spell_amount
from mercer.app.study.metrics import METRICS
from mercer.app.study.record import Candidate, Curve, Driver, Sureness
from tests.app.report.records import RECORDS

SURE = Sureness(0.743, 0.64, 0.85, 0.95, "By folds.", 0.5, other_metrics={"accuracy": [0.81, 0.7, 0.9]})
CHOSEN = Candidate("linear discriminant", "discriminants", 3.0, "", "chosen", "", 0.74, lag=0.012, lag_error=0.02)
BEST = Candidate("random forest", "ensembles", 9.0, "", "best", "", 0.752, lag=0.0, lag_error=0.0)


def _make_record():
    warning = Notice("warning", "day", "Rows that are near in time resemble each other.")
    record = RECORDS["classification"]()
    return replace(
        record,
        sureness=SURE,
        candidates=[CHOSEN, BEST],
        drivers=[Driver("heat", 0.1, 0.05, 0.15), Driver("load", 0.02, 0.01, 0.03), Driver("site", 0.0, -0.1, 0.1)],
        learning=Curve("training rows", [1.0], [1.0], [1.0], text="More rows would help."),
        calibration=None,
        decision=None,
        data=replace(record.data, notices=[warning, Notice("note", "x", "A note.")]),
    )


def test_the_answer_names_model_score_interval_and_guess():
    metric = METRICS["classification"]["balanced_accuracy"]
    assert write_answer("failure", CHOSEN, SURE, metric, [], 3) == (
        "A linear discriminant predicts `failure` with 74 % balanced accuracy on new rows (95 % interval 64 to 85; "
        "guessing: 50)."
    )
    weak = replace(SURE, low=0.45)
    assert write_answer("failure", CHOSEN, weak, metric, [], 3).startswith(
        "No model is shown to predict `failure` better than guessing: the best one has 74 % balanced accuracy"
    )
    assert write_answer("failure", CHOSEN, weak, metric, [], 3, late=True).startswith(
        "No model for which there was time is shown to predict `failure` better than guessing: the best one"
    )


def test_scores_that_are_no_shares_are_read_as_people_say_them():
    words = write_answer("rent", CHOSEN, replace(SURE, baseline=-0.01), METRICS["regression"]["r2"], [], 3)
    assert "predicts `rent` with an R² of 0.74 on new rows (95 % interval 0.64 to 0.85; guessing: −0.01)" in words
    lower = replace(SURE, score=2.0, low=1.5, high=2.5, baseline=9.0)
    words = write_answer("rent", CHOSEN, lower, METRICS["regression"]["mae"], [], 3)
    assert "predicts `rent` with a mean absolute error of 2 on new rows" in words


def test_several_warnings_are_joined_as_in_speech():
    record = _make_record()
    more = [
        *record.data.notices,
        Notice("danger", "heat", "It is hot."),
        Notice("warning", "the study", "It is short."),
    ]
    said = write_findings(replace(record, data=replace(record.data, notices=more)))
    assert "Before you use the model, read the 3 warnings about `day`, `heat` and the study in the report." in said


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("Bayesian network", "A Bayesian network predicts"),
        ("multilayer perceptron", "A multilayer perceptron predicts"),
        ("nearest neighbours", "Nearest neighbours predict"),
        ("boosted trees", "Boosted trees predict"),
        ("logistic regression", "Logistic regression predicts"),
    ],
)
def test_names_of_models_begin_the_sentence_with_their_article_and_verb(name, beginning):
    metric = METRICS["classification"]["balanced_accuracy"]
    assert write_answer("failure", replace(CHOSEN, name=name), SURE, metric, [], 5).startswith(f"{beginning} `failure`")


def test_the_findings_come_in_the_order_of_their_use():
    assert write_findings(_make_record()) == [
        "It predicts the right class for about 81 of 100 new rows.",
        "A simpler model was chosen: its score is 0.012 worse than the best one, that of a random forest. This "
        "difference may be chance: its standard error over the folds is 0.02.",
        "`heat` and `load` matter most: without their values the balanced accuracy is clearly worse.",
        "Before you use the model, read the warning about `day` in the report.",
        "More rows would help.",
    ]


def test_a_difference_above_its_standard_error_is_not_called_chance():
    record = _make_record()
    chosen = replace(record.candidates[0], lag=0.012, lag_error=0.01)
    assert chosen.status == "chosen"
    assert (
        "A simpler model was chosen: its score is 0.012 worse than the best one, that of a random forest. The "
        "standard error of this difference over the folds is 0.01."
    ) in write_findings(replace(record, candidates=[chosen, *record.candidates[1:]]))


def test_one_column_has_its_values_and_none_is_said_to_be_none():
    record = _make_record()
    alone = write_findings(replace(record, drivers=record.drivers[:1]))
    assert "`heat` matters most: without its values the balanced accuracy is clearly worse." in alone
    nothing = write_findings(replace(record, drivers=record.drivers[2:]))
    assert "No single column is shown to matter: shuffling any one of them hardly changes the score." in nothing
    unsure = write_findings(replace(record, drivers=[Driver("sex", 0.19, -0.04, 0.41)]))
    assert (
        "`sex` may matter most, but this is uncertain: without its values the balanced accuracy is 0.19 worse "
        "(interval −0.04 to 0.41)."
    ) in unsure


def test_the_terminal_says_answer_findings_warnings_and_what_to_do_next(tmp_path, capsys):
    record = _make_record()
    record = replace(record, findings=write_findings(record), fit=None)
    (tmp_path / "model.mercer").write_text("", encoding="utf-8")
    _print_answer(record, tmp_path / "report.html")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == record.answer
    assert lines[1] == "It predicts the right class for about 81 of 100 new rows."
    assert lines[-3] == "warning: day: Rows that are near in time resemble each other."
    assert lines[-1] == f"to predict new rows: mercer predict {tmp_path} NEW.csv"


def test_numbers_in_sentences_have_no_exponents():
    assert [spell_amount(value) for value in (16724.3, 0.00012345, -1.5, 0.0)] == ["16700", "0.000123", "−1.5", "0"]
    assert spell_amount(3.2e15) == "3.2e+15"
    record = _make_record()
    sure = replace(record.sureness, other_metrics={"mean absolute error": [16724.3, 15000.0, 18000.0]})
    assert write_findings(replace(record, sureness=sure))[0] == "A prediction is off by 16700 on average."


def test_a_nearly_perfect_score_asks_whether_its_columns_are_known_in_time():
    record = _make_record()
    doubt = "The score is nearly perfect. Are the values of `heat` and `load` known before `failed`? If they are not"
    assert not any(doubt in sentence for sentence in write_findings(record))
    perfect = write_findings(replace(record, sureness=replace(record.sureness, score=0.991)))
    assert any(doubt in sentence and "--ignore heat,load" in sentence for sentence in perfect)


def test_if_the_guess_is_chosen_its_score_is_not_given_as_that_of_the_best_model():
    guess = Candidate("the constant guess", "baseline", 0, "0 numbers", "chosen")
    sure = Sureness(-0.24, -0.56, 0.08, 0.95, "", -0.10)
    answer = write_answer("duration", guess, sure, METRICS["regression"]["r2"], [], 5)
    assert answer == (
        "No model is shown to predict `duration` better than guessing: a model chosen on a part of the rows has an R² "
        "of −0.24 on the others (95 % interval −0.56 to 0.08; guessing: −0.10)."
    )


def test_nothing_is_said_of_the_columns_of_a_constant_guess():
    record = _make_record()
    guess = Candidate("the constant guess", "baseline", 0, "0 numbers", "chosen")
    flat = [replace(driver, low=-0.1, mean=0.0) for driver in record.drivers]
    said = write_findings(replace(record, candidates=[guess], drivers=flat))
    assert not any("column" in sentence for sentence in said)


def test_a_tiny_difference_is_called_about_the_same():
    record = _make_record()
    chosen = replace(record.candidates[0], lag=3e-6, lag_error=1e-3)
    said = write_findings(replace(record, candidates=[chosen, *record.candidates[1:]]))
    assert "A simpler model was chosen: its score is about the same as the best one, that of a random forest." in said
