"""Compare the candidates, and measure how certain the score of the chosen one is."""

import contextlib
from dataclasses import replace

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._base.candidate import Candidate as Offer
from mercer.app.options import Options
from mercer.app.study.choice.intervals import (
    describe_method,
    find_reported_interval,
    find_trial_interval,
)
from mercer.app.study.choice.selection import Selection
from mercer.app.study.dataset import Dataset
from mercer.app.study.metrics import Metric
from mercer.app.study.recipe import find_model
from mercer.app.study.record import Candidate, Curve, Sureness
from mercer.model_selection import ScoreInterval, Trial, compare_scores

# Why a candidate is not trusted, by what it predicts.
_DOUBT = {
    "classes": "Its probabilities are worse than those of the constant guess.",
    "numbers": "Its predictions are worse than the constant guess.",
}


def read_interval(interval: ScoreInterval, metric: Metric) -> tuple[float, float, float]:
    """Return mean and ends of an interval in the sign and range of the metric: scikit-learn negates losses."""
    ends = (interval.mean, interval.low, interval.high)
    mean, low, high = ends if metric.greater_is_better else (-interval.mean, -interval.high, -interval.low)
    least = -np.inf if metric.least is None else metric.least
    most = np.inf if metric.most is None else metric.most
    return float(mean), float(np.clip(low, least, most)), float(np.clip(high, least, most))


def find_interval(trial: Trial, selection: Selection, level: float) -> tuple[float, float, float]:
    """Return the score of one trial and the ends of its interval."""
    return read_interval(find_trial_interval(selection, trial, level), selection.metric)


def list_candidates(selection: Selection, options: Options) -> list[Candidate]:
    """Return every candidate that was offered, with its score or the reason why it has none."""
    means = {trial.name: trial.scores.mean() for trial in selection.trials}
    best = max(means, key=lambda name: means[name])
    top = selection.result.trial(best).scores
    listed = []
    for offer in selection.offers:
        if offer.name not in means:
            listed.append(describe_unscored(offer, selection))
            continue
        trial = selection.result.trial(offer.name)
        # The folds are the same for all candidates, so that differences are compared fold by fold.
        lead = compare_scores(top, trial.scores, test_share=selection.plan.test_share, level=options.level).interval
        doubtful, outdone = offer.name in selection.distrusted, offer.name in selection.outdone
        status = "best" if offer.name == best else "worse" if lead.low > 0 or doubtful or outdone else "as good"
        status = "chosen" if offer.name == selection.result.winner else status
        scored = _describe_scored(offer, trial, status, selection, options)
        text = scored.text
        if doubtful:
            text = f"{text} {_DOUBT['classes' if trial.predictions.ndim == 2 else 'numbers']}"
        elif offer.name in selection.too_slow:
            text = f"{text} {selection.too_slow[offer.name]}"
        elif offer.name in selection.rivals:
            text = f"{text} Row by row it is not clearly better than {selection.rivals[offer.name]} alone."
        elif outdone and lead.low <= 0:
            text = f"{text} Row by row its predictions are worse than those of {selection.outdone[offer.name]}."
        listed.append(replace(scored, text=text, lag=lead.mean, lag_error=lead.standard_error))
    return listed


def _describe_scored(offer: Offer, trial: Trial, status: str, selection: Selection, options: Options) -> Candidate:
    """Return the record of a candidate that was tried."""
    mean, low, high = find_interval(trial, selection, options.level)
    sign = 1.0 if selection.metric.greater_is_better else -1.0
    complexity, words = float(offer.rank), "not counted"
    if offer.complexity is not None:
        # A model that cannot be counted keeps its rank: the comparison does not depend on it.
        with contextlib.suppress(Exception):
            complexity, words = offer.complexity(find_model(trial.models[0]) if trial.models else None)
    train_score = float(sign * trial.train_scores.mean())
    prefixes = ("model__estimator__estimator__", "model__estimator__", "model__regressor__", "model__")
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
        train_score if np.isfinite(train_score) else None,
        float(trial.seconds),
        [float(sign * score) for score in trial.scores],
        [
            {_shorten(name, prefixes): simplify_setting(value) for name, value in setting.items()}
            for setting in trial.chosen_settings
        ],
    )


def describe_unscored(offer: Offer, selection: Selection) -> Candidate:
    """Return the record of a candidate that was skipped or failed."""
    failed = offer.name in selection.failed
    reason = selection.failed[offer.name] if failed else selection.skipped.get(offer.name, "not reached")
    status = "failed" if failed else "skipped"
    return Candidate(offer.name, offer.family, float(offer.rank), "–", status, reason)


def _shorten(name: str, prefixes: tuple[str, ...]) -> str:
    """Return the name of a parameter without the steps of the pipeline before it."""
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    return name


def simplify_setting(value: object) -> object:
    """Return a parameter as a number or text that JSON can hold."""
    if isinstance(value, Pipeline):
        return "log of the target" if value.steps[0][0] == "log" else "none"
    return (
        value.item() if isinstance(value, np.generic) else value if isinstance(value, (int, float, str)) else str(value)
    )


def make_complexity_curve(listed: list[Candidate], metric: Metric) -> Curve | None:
    """Return the scores on training rows and on unseen rows of all candidates, from simple to complex."""
    # Candidates are listed by their rank, from simple to complex, which is the axis of the curve.
    # A stack that was not chosen has no score on training rows: it was never fitted as one model.
    judged = [candidate for candidate in listed if candidate.score is not None and candidate.train_score is not None]
    if len(judged) < 2:
        return None
    train, test, errors = (
        [getattr(candidate, name) for candidate in judged] for name in ("train_score", "score", "standard_error")
    )
    gap = [abs(fitted - unseen) for fitted, unseen in zip(train, test)]
    widest = judged[int(np.argmax(gap))]
    chosen = next(place for place, candidate in enumerate(judged) if candidate.status == "chosen")
    return Curve(
        "candidates from simple to complex",
        [float(place) for place in range(len(judged))],
        train,
        test,
        [],
        errors,
        [candidate.name for candidate in judged],
        chosen,
        f"The {metric.words} on training rows and on unseen rows differs most for {widest.name} ({max(gap):.2g}). For "
        f"the chosen model, {judged[chosen].name}, the difference is {gap[chosen]:.2g}.",
    )


def measure_sureness(selection: Selection, dataset: Dataset, options: Options) -> Sureness:
    """Return the score to expect of the chosen model on new rows, and the interval around it."""
    result, metric = selection.result, selection.metric
    interval = find_reported_interval(selection, options.level)
    mean, low, high = read_interval(interval, metric)
    if metric.most == 1.0 and metric.least == 0.0 and low == high == 1.0:
        # No error in n rows: with probability `level` the true error rate is below -log(1 - level) / n.
        low = 1 - float(-np.log(1 - options.level)) / len(dataset)
    constant = selection.trials[0]
    baseline = float(constant.scores.mean() * (1 if metric.greater_is_better else -1))
    bias = result.selection_bias if metric.greater_is_better else -result.selection_bias
    return Sureness(
        mean,
        low,
        high,
        options.level,
        describe_method(selection, options.level),
        baseline,
        constant.name,
        float(bias),
    )
