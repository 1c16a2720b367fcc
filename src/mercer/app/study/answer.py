"""The answer of a study in one sentence, and further sentences for the reader."""

from mercer.app.study.formatting import spell_amount, spell_range
from mercer.app.study.metrics import Metric
from mercer.app.study.record import Candidate, Column, OtherQuestion, Record, Sureness

# How names of candidates end that take an article, and those in the plural.
_COUNTABLE = ("discriminant", "centroid", "tree", "forest", "machine", "process", "network", "perceptron")
_PLURAL = ("densities", "trees", "neighbours", "models")
# A column is worth a sentence if its loss is more than this share of what the model is better than guessing.
_NOTABLE = 0.2
# Scores from which on a column may be known only with the target. Of measured quantities few are predicted so well.
_NEARLY_PERFECT = 0.98
# Scores that differ by less than this share of the best one are called about the same.
_SAME = 0.0005
# An R² with a size of at least this is no decimal fraction any more.
_MOST_DECIMAL = 10
# Decimals beyond the usual ones that tell the ends of a narrow interval apart.
_MOST_MORE = 2


def spell_value(value: float, metric: Metric) -> str:
    """Return a value of the metric as text; a share is given in per cent."""
    if metric.most == 1.0 and metric.least == 0.0:
        # Whole per cent are as much as an interval of a few per cent supports; near 0 and 100 digits matter.
        return f"{100 * value:.0f} %" if 0.01 <= value <= 0.99 else f"{100 * value:.3g} %"
    if metric.most == 1.0 and abs(value) < 10:
        # R²: two decimals, but for those near 1. Adding zero turns -0.00 into 0.00.
        near = 0.99 <= value < 0.9995
        return f"{value:.3f}" if near else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
    return spell_amount(value)


def spell_interval(score: float, low: float, high: float, metric: Metric) -> tuple[str, str, str]:
    """Return a score and the ends of its interval with the same number of decimals, and as many as tell the ends apart.

    Examples
    --------
    >>> from mercer.app.study.metrics import find_metric
    >>> spell_interval(0.9805, 0.9793, 0.9817, find_metric("r2", "regression"))
    ('0.981', '0.979', '0.982')
    """
    values = (score, low, high)
    share = metric.most == 1.0 and metric.least == 0.0
    if not share and (metric.most != 1.0 or max(map(abs, values)) >= _MOST_DECIMAL):
        first, last = spell_range(low, high).split(" to ")
        return spell_value(score, metric), first, last
    texts = [spell_value(value, metric).removesuffix(" %") for value in values]
    least = max(len(text.partition(".")[2]) for text in texts)
    for decimals in range(least, least + _MOST_MORE + 1):
        # Adding zero turns -0.00 into 0.00.
        texts = [f"{round(100 * value if share else value, decimals) + 0.0:.{decimals}f}" for value in values]
        if texts[1] != texts[2] or low == high:
            break
    score_text, first, last = (text.replace("-", "\u2212") for text in texts)
    return f"{score_text} %" if share else score_text, first, last


def write_answer(
    target: str,
    chosen: Candidate,
    sure: Sureness,
    metric: Metric,
    columns: list[Column],
    n_tried: int,
    late: bool = False,
    other: OtherQuestion | None = None,
) -> str:
    """Return one sentence: which model predicts `target`, how well, and how certain that is.

    `n_tried` is the number of candidates with a score, the constant guess among them; `late` says whether there was no
    time for others. `other` is the score for another kind of new rows, where it differs.
    """
    text, low, high = spell_interval(sure.score, sure.low, sure.high, metric)
    guess, score = spell_value(sure.baseline, metric).removesuffix(" %"), _add_metric(text, metric)
    interval = f"{100 * sure.level:.3g} % interval {low} to {high}; guessing: {guess}"
    # A model is better than guessing only if its whole interval is; the side depends on the sign of the metric.
    better = sure.low > sure.baseline if metric.greater_is_better else sure.high < sure.baseline
    if n_tried == 1 and chosen.family == "baseline":
        sentence = (
            f"No model was tried beside the constant guess, so that it is not known how well `{target}` can be "
            f"predicted. The guess has {score} on new rows"
        )
    elif chosen.family == "baseline" or not better:
        # Models that were not tried may well be better than guessing.
        subject = "No model for which there was time" if late else "No model"
        # If the guess itself is chosen, the score is that of the whole search, whose choice differs between folds.
        tested = f"the best one has {score} on new rows"
        if chosen.family == "baseline":
            tested = f"a model chosen on a part of the rows has {score} on the others"
        sentence = f"{subject} is shown to predict `{target}` better than guessing: {tested} ({interval})"
    else:
        rows = "new rows" if other is None else other.assumed
        sentence = f"{_name_model(chosen.name)} `{target}` with {score} on {rows} ({interval})"
        if other is not None:
            text, low, high = spell_interval(other.score, other.low, other.high, metric)
            sentence += f", and {text} on {other.rows} ({low} to {high})"
    leaks = [f"`{column.name}`" for column in columns if column.role == "leak"]
    if leaks:
        why = "it gives" if len(leaks) == 1 else "they give"
        sentence += (
            f"; {' and '.join(leaks)} {'was' if len(leaks) == 1 else 'were'} not used because {why} the answer away"
        )
    return f"{sentence}."


def _add_metric(text: str, metric: Metric) -> str:
    """Return a score with its metric: "74 % balanced accuracy", or "an R² of 0.826"."""
    if text.endswith("%"):
        return f"{text} {metric.words}"
    # R is spoken with a vowel at its beginning.
    return f"{'an' if metric.words[0] in 'aeiouR' else 'a'} {metric.words} of {text}"


def _name_model(name: str) -> str:
    """Return a candidate and its verb, to begin a sentence: "A linear discriminant predicts"."""
    return f"{capitalise(add_article(name))} {agree(name, 'predicts', 'predict')}"


def add_article(name: str) -> str:
    """Return a candidate as it stands inside a sentence: "a linear discriminant", "ridge regression on curves"."""
    basis, _, model = name.rpartition(", ")
    if basis:
        return f"{model} on {basis} of the columns"
    return f"a {name}" if name.endswith(_COUNTABLE) and not name.startswith("one ") else name


def agree(name: str, one: str, several: str) -> str:
    """Return the word that agrees with a candidate: one in the singular, or one in the plural."""
    return several if name.endswith(_PLURAL) else one


def capitalise(name: str) -> str:
    """Return the name with a capital letter at the beginning."""
    return f"{name[:1].upper()}{name[1:]}"


def write_findings(record: Record) -> list[str]:
    """Return further sentences: how good the model is, what drives it, what to worry about, and what to do next."""
    sentences = [*_say_other(record), *_say_how_good(record), *_say_why_chosen(record)]
    if record.decision is not None:
        sentences.append(record.decision.text)
    return [*sentences, *_say_drivers(record), *_say_worries(record), *_say_next(record)]


def _say_how_good(record: Record) -> list[str]:
    """Return what the score means for single rows."""
    measured = record.sureness.other_metrics if record.sureness is not None else {}
    chosen = next((candidate for candidate in record.candidates if candidate.status == "chosen"), None)
    if chosen is None or chosen.family == "baseline":
        return []
    if "mean absolute error" in measured:
        return [f"A prediction is off by {spell_amount(measured['mean absolute error'][0])} on average."]
    if "accuracy" in measured:
        return [f"It predicts the right class for about {100 * measured['accuracy'][0]:.0f} of 100 new rows."]
    return []


def _say_other(record: Record) -> list[str]:
    """Return which kind of new rows the study assumes, and how to ask for the other one."""
    other = record.other
    if other is None and not _is_guess(record):
        # Where there was no time to score the chosen model on them, a quick model tells the difference.
        random = "The study splits rows at random."
        return [notice.text for notice in record.data.notices if notice.level == "warning" and random in notice.text]
    if other is None or _is_guess(record):
        return []
    return [f"The study assumes {other.assumed}. For {other.rows}, give {other.option}."]


def _say_why_chosen(record: Record) -> list[str]:
    """Return why the chosen model is not the one with the best score, if it is not."""
    chosen = next((candidate for candidate in record.candidates if candidate.status == "chosen"), None)
    best = next((candidate for candidate in record.candidates if candidate.status == "best"), None)
    if chosen is None or best is None or chosen.lag is None or chosen.lag_error is None:
        return []
    score = spell_amount(best.score or 0.0)
    same = chosen.lag < _SAME * abs(best.score or 0.0)
    worse = "about the same" if same else f"{spell_amount(chosen.lag, 2)} worse"
    if "worse than those of the constant" in best.text:
        return [
            f"{capitalise(add_article(best.name))} {agree(best.name, 'has', 'have')} the best score, {score}, but "
            f"{agree(best.name, 'its', 'their')} probabilities are worse than those of the constant guess. "
            f"{capitalise(chosen.name)} {agree(chosen.name, 'was', 'were')} chosen."
        ]
    if "for which there is no time" in best.text:
        reason = best.text[best.text.rindex("A fit to all") :]
        return [
            f"{capitalise(add_article(best.name))} {agree(best.name, 'has', 'have')} the best score in the "
            f"comparison, {score}. {reason} {capitalise(chosen.name)} {agree(chosen.name, 'was', 'were')} chosen, "
            f"{agree(chosen.name, 'whose', 'whose')} score in the comparison is {worse}."
        ]
    if "not clearly better" in best.text:
        return [
            f"{capitalise(best.name)} have the best score, {score}, but row by row they are not clearly better than "
            f"one model. {capitalise(chosen.name)} {agree(chosen.name, 'was', 'were')} chosen: "
            f"{agree(chosen.name, 'its', 'their')} score is {worse}."
        ]
    subject = "The constant guess" if chosen.family == "baseline" else "A simpler model"
    error = spell_amount(chosen.lag_error, 2)
    reason = (
        f"This difference may be chance: its standard error over the folds is {error}."
        if chosen.lag <= chosen.lag_error
        else f"The standard error of this difference over the folds is {error}."
    )
    if same:
        return [f"{subject} was chosen: its score is about the same as the best one, that of {add_article(best.name)}."]
    return [f"{subject} was chosen: its score is {worse} than the best one, that of {add_article(best.name)}. {reason}"]


def _is_guess(record: Record) -> bool:
    """Return whether the constant guess was chosen."""
    return any(candidate.status == "chosen" and candidate.family == "baseline" for candidate in record.candidates)


def _say_drivers(record: Record) -> list[str]:
    """Return which columns matter most."""
    # A positive lower end means that shuffling the column costs score in a way that chance does not explain.
    moved = [driver for driver in record.drivers if driver.low > 0][:3]
    if _is_guess(record):
        # The constant guess uses no column.
        return []
    if not moved and record.drivers:
        top = max(record.drivers, key=lambda driver: driver.mean)
        lead = 0.0 if record.sureness is None else abs(record.sureness.score - record.sureness.baseline)
        if top.mean > _NOTABLE * lead and lead > 0:
            # Few folds leave a wide interval even around a large effect.
            return [
                f"`{top.column}` may matter most, but this is uncertain: without its values the "
                f"{record.question.metric} is {spell_amount(top.mean, 2)} worse "
                f"(interval {spell_range(top.low, top.high, 2)})."
            ]
        return ["No single column is shown to matter: shuffling any one of them hardly changes the score."]
    if not moved:
        return []
    names = [f"`{driver.column}`" for driver in moved]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    verb, whose = ("matters", "its") if len(moved) == 1 else ("matter", "their")
    return [f"{listed} {verb} most: without {whose} values the {record.question.metric} is clearly worse."]


def _say_worries(record: Record) -> list[str]:
    """Return what to read before the model is used."""
    sentences = _doubt_perfection(record)
    # Probabilities that are off by up to 5 % on average are not worth a sentence of their own.
    if record.calibration is not None and record.calibration.error > 0.05 and not _is_guess(record):
        sentences.append(record.calibration.text)
    grave = [notice for notice in record.data.notices if notice.level != "note"]
    subjects = list(dict.fromkeys(notice.subject for notice in grave))
    if grave:
        shown = [f"`{subject}`" if not subject.startswith("the ") else subject for subject in subjects[:4]]
        shown += ["others"] if len(subjects) > 4 else []
        words = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        count = "the warning" if len(grave) == 1 else f"the {len(grave)} warnings"
        chosen = any(candidate.status == "chosen" for candidate in record.candidates)
        when = "Before you use the model, read" if chosen else "Read"
        sentences.append(f"{when} {count} about {words} in the report.")
    return sentences


def _doubt_perfection(record: Record) -> list[str]:
    """Return a question about the columns behind a score that is nearly perfect: they may follow from the target."""
    sure, names = record.sureness, [driver.column for driver in record.drivers if driver.low > 0][:3]
    # Scores that are better when larger end at 1; losses have no such limit.
    if sure is None or not record.question.greater_is_better or sure.score < _NEARLY_PERFECT or not names:
        return []
    listed = " and ".join(filter(None, [", ".join(f"`{name}`" for name in names[:-1]), f"`{names[-1]}`"]))
    known, what = ("Is the value", "it is") if len(names) == 1 else ("Are the values", "they are")
    return [
        f"The score is nearly perfect. {known} of {listed} known before `{record.question.target}`? If {what} not, "
        f"give --ignore {','.join(names)}."
    ]


def _say_next(record: Record) -> list[str]:
    """Return whether more rows would help."""
    return [] if record.learning is None else [record.learning.text]


def compare_holdout(record: Record) -> str:
    """Return in a sentence how the model does on the rows of ``--holdout``, beside what the study claims."""
    found, sure = record.holdout, record.sureness
    assert found is not None
    words = f"On {found.n_rows} rows of {found.table}, which the study has not seen, the {record.question.metric} is "
    words += f"{spell_amount(found.score)} ({spell_range(found.low, found.high)})"
    if sure is None:
        return f"{words}."
    apart = found.high < sure.low or found.low > sure.high
    better = (found.score > sure.score) == record.question.greater_is_better
    verdict = f"{'better' if better else 'worse'} than chance explains" if apart else "as the study claims"
    return f"{words}: {verdict}."
