"""The answer of a study in one sentence, and further sentences for the reader."""

from mercer.app.study.metrics import Metric
from mercer.app.study.record import Candidate, Column, Record, Sureness

__all__ = ["spell_value", "write_answer", "write_findings"]

# How names of candidates end that take an article, and those in the plural.
_COUNTABLE = ("discriminant", "centroid", "tree", "forest", "machine", "process", "network", "perceptron")
_PLURAL = ("densities", "trees", "neighbours", "models")
# A column is worth a sentence if its loss is more than this share of what the model is better than guessing.
_NOTABLE = 0.2


def spell_value(value: float, metric: Metric) -> str:
    """Return a value of the metric as text; a share is given in per cent."""
    if metric.most == 1.0 and metric.least == 0.0:
        # Whole per cent are as much as an interval of a few per cent supports; near 0 and 100 digits matter.
        return f"{100 * value:.0f} %" if 0.01 <= value <= 0.99 else f"{100 * value:.3g} %"
    if metric.most == 1.0 and abs(value) < 10:
        # R²: two decimals, but for those near 1. Adding zero turns -0.00 into 0.00.
        return f"{round(value, 2) + 0.0:.2f}".replace("-", "−") if value < 0.99 else f"{value:.3g}"
    return f"{value:.3g}"


def write_answer(
    target: str,
    chosen: Candidate,
    sure: Sureness,
    metric: Metric,
    columns: list[Column],
    n_tried: int,
    late: bool = False,
) -> str:
    """Return one sentence: which model predicts `target`, how well, and how certain that is.

    `n_tried` is the number of candidates with a score, the constant guess among them; `late` says whether there was no
    time for others.
    """
    low, high, guess = (spell_value(value, metric).removesuffix(" %") for value in (sure.low, sure.high, sure.baseline))
    score = _spell_score(sure.score, metric)
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
        sentence = (
            f"{subject} is shown to predict `{target}` better than guessing: the best one has {score} on new rows "
            f"({interval})"
        )
    else:
        sentence = f"{_name_model(chosen.name)} `{target}` with {score} on new rows ({interval})"
    leaks = [f"`{column.name}`" for column in columns if column.role == "leak"]
    if leaks:
        why = "it gives" if len(leaks) == 1 else "they give"
        sentence += (
            f"; {' and '.join(leaks)} {'was' if len(leaks) == 1 else 'were'} not used because {why} the answer away"
        )
    return f"{sentence}."


def _spell_score(value: float, metric: Metric) -> str:
    """Return a score with its metric: "74 % balanced accuracy", or "an R² of 0.826"."""
    text = spell_value(value, metric)
    if text.endswith("%"):
        return f"{text} {metric.words}"
    # R is spoken with a vowel at its beginning.
    return f"{'an' if metric.words[0] in 'aeiouR' else 'a'} {metric.words} of {text}"


def _name_model(name: str) -> str:
    """Return a candidate and its verb, to begin a sentence: "A linear discriminant predicts"."""
    basis, _, model = name.rpartition(", ")
    if basis:
        name = f"{model} on {basis} of the columns"
    elif name.endswith(_COUNTABLE) and not name.startswith("one "):
        name = f"a {name}"
    return f"{_capitalise(name)} {'predict' if name.endswith(_PLURAL) else 'predicts'}"


def _capitalise(name: str) -> str:
    """Return the name with a capital letter at the beginning."""
    return f"{name[:1].upper()}{name[1:]}"


def write_findings(record: Record) -> list[str]:
    """Return further sentences: how good the model is, what drives it, what to worry about, and what to do next."""
    sentences = [*_say_how_good(record), *_say_why_chosen(record)]
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
        return [f"A prediction is off by {measured['mean absolute error'][0]:.3g} on average."]
    if "accuracy" in measured:
        return [f"It predicts the right class for about {100 * measured['accuracy'][0]:.0f} of 100 new rows."]
    return []


def _say_why_chosen(record: Record) -> list[str]:
    """Return why the chosen model is not the one with the best score, if it is not."""
    chosen = next((candidate for candidate in record.candidates if candidate.status == "chosen"), None)
    best = next((candidate for candidate in record.candidates if candidate.status == "best"), None)
    if chosen is None or best is None or chosen.lag is None or chosen.lag_error is None:
        return []
    if "worse than those of the constant" in best.text:
        return [
            f"{_capitalise(best.name)} has the best score, {best.score:.3g}, but its probabilities are worse than "
            f"those of the constant guess. {_capitalise(chosen.name)} was chosen."
        ]
    if "not clearly better" in best.text:
        return [
            f"{_capitalise(best.name)} have the best score, {best.score:.3g}, but row by row they are not clearly "
            f"better than one model. {_capitalise(chosen.name)} was chosen: its score is {chosen.lag:.2g} worse."
        ]
    subject = "The constant guess" if chosen.family == "baseline" else "A simpler model"
    # A difference above its standard error is chosen too, where a more complex candidate is within its own but worse.
    doubt = "This difference may be chance: its" if chosen.lag <= chosen.lag_error else "The"
    of_what = "" if chosen.lag <= chosen.lag_error else " of this difference"
    return [
        f"{subject} was chosen: its score is only {chosen.lag:.2g} worse than that of {best.name}, the best one. "
        f"{doubt} standard error{of_what} over the folds is {chosen.lag_error:.2g}."
    ]


def _say_drivers(record: Record) -> list[str]:
    """Return which columns matter most."""
    # A positive lower end means that shuffling the column costs score in a way that chance does not explain.
    moved = [driver for driver in record.drivers if driver.low > 0][:3]
    if not moved and record.drivers:
        top = max(record.drivers, key=lambda driver: driver.mean)
        lead = 0.0 if record.sureness is None else abs(record.sureness.score - record.sureness.baseline)
        if top.mean > _NOTABLE * lead and lead > 0:
            # Few folds leave a wide interval even around a large effect.
            return [
                f"`{top.column}` may matter most, but this is uncertain: without its values the "
                f"{record.question.metric} is {top.mean:.2g} worse (interval {top.low:.2g} to {top.high:.2g})."
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
    sentences = []
    # Probabilities that are off by up to 5 % on average are not worth a sentence of their own.
    if record.calibration is not None and record.calibration.error > 0.05:
        sentences.append(record.calibration.text)
    grave = [notice for notice in record.data.notices if notice.level != "note"]
    subjects = list(dict.fromkeys(notice.subject for notice in grave))
    if grave:
        shown = [f"`{subject}`" if not subject.startswith("the ") else subject for subject in subjects[:4]]
        shown += ["others"] if len(subjects) > 4 else []
        words = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        count = "the warning" if len(grave) == 1 else f"the {len(grave)} warnings"
        sentences.append(f"Before you use the model, read {count} about {words} in the report.")
    return sentences


def _say_next(record: Record) -> list[str]:
    """Return whether more rows would help."""
    return [] if record.learning is None else [record.learning.text]
