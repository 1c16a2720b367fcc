"""The candidates side by side, and how sure the score of the chosen one is."""

import numpy as np

from mercer._base.candidate import Candidate as Offer
from mercer.app.options import Options
from mercer.app.study.material import Material
from mercer.app.study.metrics import Metric
from mercer.app.study.recipe import model_of
from mercer.app.study.record import Candidate, Curve, Sureness
from mercer.app.study.selection import Selection
from mercer.model_selection import ScoreInterval, Trial, score_interval

__all__ = ["compare", "complexity_curve", "interval_of", "read_interval", "sureness"]

_METHOD = (
    "The score is the mean over {splits} outer splits, each scored on rows that had no part in fitting or choosing; "
    "the interval is Nadeau and Bengio's corrected t interval, which allows for training rows in common and holds "
    "where new rows come as these did."
)


def read_interval(found: ScoreInterval, metric: Metric) -> tuple[float, float, float]:
    """Score and ends of the interval as a reader counts them, inside the values that the measure can take."""
    ends = (found.mean, found.low, found.high)
    mean, low, high = ends if metric.greater_is_better else (-found.mean, -found.high, -found.low)
    least = -np.inf if metric.least is None else metric.least
    most = np.inf if metric.most is None else metric.most
    return float(mean), float(np.clip(low, least, most)), float(np.clip(high, least, most))


def interval_of(trial: Trial, selection: Selection, level: float) -> tuple[float, float, float]:
    """Score and interval of one trial."""
    found = score_interval(trial.scores, test_share=selection.plan.test_share, level=level)
    return read_interval(found, selection.metric)


def compare(selection: Selection, options: Options) -> list[Candidate]:
    """Every candidate that was offered, with its score or the reason why it has none."""
    means = {trial.name: trial.scores.mean() for trial in selection.trials}
    best = max(means, key=lambda name: means[name])
    spread = selection.result.trial(best).scores
    error = spread.std(ddof=1) / np.sqrt(len(spread))
    listed = []
    for offer in selection.offers:
        if offer.name not in means:
            listed.append(_without_score(offer, selection))
            continue
        trial = selection.result.trial(offer.name)
        status = "as good" if means[offer.name] >= means[best] - error else "worse"
        status = "best" if offer.name == best else status
        status = "chosen" if offer.name == selection.result.winner else status
        listed.append(_with_score(offer, trial, status, selection, options))
    return listed


def _with_score(offer: Offer, trial: Trial, status: str, selection: Selection, options: Options) -> Candidate:
    mean, low, high = interval_of(trial, selection, options.level)
    sign = 1.0 if selection.metric.greater_is_better else -1.0
    complexity, words = float(offer.rank), f"rank {offer.rank}"
    if offer.complexity is not None:
        complexity, words = offer.complexity(model_of(trial.models[0]))
    prefixes = ("model__estimator__estimator__", "model__estimator__", "model__")
    return Candidate(
        offer.name,
        offer.family,
        complexity,
        words,
        status,
        offer.text,
        mean,
        low,
        high,
        float(trial.scores.std(ddof=1) / np.sqrt(len(trial.scores))),
        float(sign * trial.train_scores.mean()),
        float(trial.seconds),
        [float(sign * one) for one in trial.scores],
        [{_short(name, prefixes): _plain(value) for name, value in one.items()} for one in trial.chosen_settings],
    )


def _without_score(offer: Offer, selection: Selection) -> Candidate:
    failed = offer.name in selection.failed
    reason = selection.failed[offer.name] if failed else selection.skipped.get(offer.name, "not reached")
    status = "failed" if failed else "skipped"
    return Candidate(offer.name, offer.family, float(offer.rank), f"rank {offer.rank}", status, reason)


def _short(name: str, prefixes: tuple[str, ...]) -> str:
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    return name


def _plain(value: object) -> object:
    return (
        value.item() if isinstance(value, np.generic) else value if isinstance(value, (int, float, str)) else str(value)
    )


def complexity_curve(listed: list[Candidate], metric: Metric) -> Curve | None:
    """Scores on rows fitted to and on unseen rows, from simple to complex."""
    judged = [one for one in listed if one.score is not None]
    if len(judged) < 2:
        return None
    gap = [abs(one.train_score - one.score) for one in judged]
    widest = judged[int(np.argmax(gap))]
    chosen = next(number for number, one in enumerate(judged) if one.status == "chosen")
    return Curve(
        "candidates from simple to complex",
        [float(number) for number in range(len(judged))],
        [one.train_score for one in judged],
        [one.score for one in judged],
        [],
        [one.standard_error for one in judged],
        [one.name for one in judged],
        chosen,
        f"The gap between rows fitted to and unseen rows is widest for {widest.name} ({max(gap):.2g} in "
        f"{metric.words}), and {gap[chosen]:.2g} for {judged[chosen].name}, which was chosen.",
    )


def sureness(selection: Selection, material: Material, options: Options) -> Sureness:
    """How good the chosen model will be, and how sure that is."""
    result, metric = selection.result, selection.metric
    mean, low, high = read_interval(result.interval, metric)
    if metric.most == 1.0 and metric.least == 0.0 and low == high == 1.0:
        # Nobody was wrong among n rows: with the level's probability the error is below this (the rule of three).
        low = 1 - float(-np.log(1 - options.level)) / len(material)
    constant = selection.trials[0]
    baseline = float(constant.scores.mean() * (1 if metric.greater_is_better else -1))
    bias = result.selection_bias if metric.greater_is_better else -result.selection_bias
    return Sureness(
        mean,
        low,
        high,
        options.level,
        _METHOD.format(splits=len(result.scores)),
        baseline,
        constant.name,
        float(bias),
    )
