"""The answer in one sentence, and what else should be known."""

from mercer.app.study.material import Material
from mercer.app.study.metrics import Metric
from mercer.app.study.record import Candidate, Column, Record, Sureness

__all__ = ["answer", "findings", "spoken"]


def spoken(value: float, metric: Metric) -> str:
    """A value of the measure as it is said: shares in per cent."""
    if metric.most == 1.0 and metric.least == 0.0:
        return f"{100 * value:.3g} %"
    return f"{value:.3g}"


def answer(
    target: str, chosen: Candidate, sure: Sureness, metric: Metric, material: Material, columns: list[Column]
) -> str:
    """What can be predicted, how well, by what, and what was left out."""
    subject = f"`{target}`" if material.task == "regression" else _subject(target, material)
    low, high = spoken(sure.low, metric).removesuffix(" %"), spoken(sure.high, metric).removesuffix(" %")
    guess = spoken(sure.baseline, metric).removesuffix(" %")
    numbers = f"({sure.level:.0%} interval {low} to {high}; guessing gets {guess})".replace("%", " %")
    better = sure.low > sure.baseline if metric.greater_is_better else sure.high < sure.baseline
    if chosen.family == "baseline" or not better:
        said = (
            f"From these columns {subject[:1].lower() + subject[1:]} cannot be predicted better than by guessing "
            f"beyond doubt: the best try gets {spoken(sure.score, metric)} {metric.words} {numbers}"
        )
    else:
        n_used = len(material.kinds)
        said = (
            f"{subject} can be predicted with {spoken(sure.score, metric)} {metric.words} {numbers}, by {chosen.name} "
            f"on {n_used} column{'s' if n_used != 1 else ''}"
        )
    leaks = [f"`{one.name}`" for one in columns if one.role == "leak"]
    if leaks:
        verb = "was left out as it gives" if len(leaks) == 1 else "were left out as they give"
        said += f"; {' and '.join(leaks)} {verb} the answer away"
    return f"{said}."


def _subject(target: str, material: Material) -> str:
    if material.positive is not None:
        return f"Whether `{target}` is `{material.positive}`"
    return f"Which of {len(material.classes)} classes `{target}` is"


def findings(record: Record) -> list[str]:
    """Further sentences, most important first."""
    said = []
    chosen = next((one for one in record.candidates if one.status == "chosen"), None)
    best = next((one for one in record.candidates if one.status == "best"), None)
    if chosen is not None and best is not None:
        said.append(
            f"{best.name} scored {best.score:.3g} and {chosen.name} {chosen.score:.3g}, which is within one standard "
            f"error ({best.standard_error:.2g}): the simpler is kept."
        )
    if record.decision is not None:
        said.append(record.decision.text)
    moved = [one for one in record.drivers if one.low > 0]
    if moved:
        names = ", ".join(f"`{one.column}`" for one in moved[:3])
        said.append(f"What matters most is {names}: shuffled, the {record.question.metric} gets worse beyond doubt.")
    elif record.drivers:
        said.append("No single column matters beyond doubt: shuffling any one hardly changes the score.")
    if record.learning is not None:
        said.append(record.learning.text)
    if record.calibration is not None and record.calibration.error > 0.05:
        said.append(record.calibration.text)
    return said
