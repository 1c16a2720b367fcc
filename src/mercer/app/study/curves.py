"""Whether more rows would help, and whether the error is bias or variance."""

import numpy as np
from sklearn.base import clone

from mercer.app.options import Options
from mercer.app.study.choice.selection import Selection
from mercer.app.study.dataset import Dataset, draw_rows
from mercer.app.study.formatting import spell_amount, spell_range
from mercer.app.study.record import BiasVariance, Candidate, Curve
from mercer.model_selection import resampled_bias_variance, score_interval
from mercer.model_selection.trials import order_growing, score_sizes

# Shares of the training rows at which the learning curve is measured; no point has fewer than `_FEWEST` rows.
_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
_FEWEST = 20
# Rows of each class that a calibrated model needs.
_FEWEST_OF_A_CLASS = 4
# Points at the end of the curve to which the line is fitted.
_LAST = 3
# Gains from doubling the rows below this share of the distance to guessing are called little.
_LITTLE = 0.02
# Most of the error that twice the rows take away: what depends on the rows falls no faster than one over their number.
_SHARE_OF_ERROR = 0.5
# Bias and variance are measured on at most this many rows: they take ten fits of each candidate.
_MOST_ROWS = 3000


def make_learning_curve(selection: Selection, dataset: Dataset, options: Options) -> Curve | None:
    """Return the scores of the chosen model for more and more training rows."""
    plan, metric = selection.plan, selection.metric
    splits = plan.outer[: min(len(plan.outer), 3 if len(dataset) > 20_000 else 5)]
    largest = min(len(train) for train, _ in splits)
    sizes = np.unique([max(_FEWEST, int(share * largest)) for share in _SHARES if share * largest >= _FEWEST / 2])
    if len(sizes) < 2:
        return None
    labels = dataset.y if dataset.task == "classification" else None
    orders = [
        order_growing(train, labels, options.seed + fold, dataset.time is not None)
        for fold, (train, _) in enumerate(splits)
    ]
    if selection.calibrated and labels is not None:
        # Calibration splits the training rows into folds, and each fold needs a row of every class.
        fits = [min(_count_rarest(labels[order[:size]]) for order in orders) >= _FEWEST_OF_A_CLASS for size in sizes]
        sizes = sizes[np.array(fits)]
        if len(sizes) < 2:
            return None
    estimator = selection.contenders[selection.result.winner].estimator
    threads = selection.threads(options.n_jobs)
    train, test = score_sizes(estimator, plan.rows, splits, orders, sizes, threads, selection.result.setting)
    sign = 1.0 if metric.greater_is_better else -1.0
    return Curve(
        "training rows",
        sizes.astype(float).tolist(),
        (sign * train.mean(axis=1)).tolist(),
        (sign * test.mean(axis=1)).tolist(),
        train.std(axis=1).tolist(),
        test.std(axis=1).tolist(),
        text=_describe_curve(test, sizes, selection, options.level),
    )


def _count_rarest(labels: np.ndarray) -> int:
    """Return the number of rows of the rarest class that occurs."""
    return int(np.unique(labels, return_counts=True)[1].min())


def _describe_curve(test: np.ndarray, sizes: np.ndarray, selection: Selection, level: float) -> str:
    """Return in words whether the score improves with the number of rows.

    A line is fitted to the last `_LAST` points of each split, score against the logarithm of the number of rows. Its
    slope is the gain from doubling the rows; the splits give the interval.
    """
    n_points = min(_LAST, len(sizes))
    doublings = np.log2(sizes[-n_points:])
    slopes = np.polyfit(doublings, test[-n_points:], 1)[0]
    gain = score_interval(slopes, test_share=selection.plan.test_share, level=level)
    metric, score = selection.metric, float(test[-1].mean())
    # Gains below 2 % of what the model is better than guessing are called little; half a per cent is little anyway.
    least = 0.005 if metric.most is not None else 0.0
    little = max(_LITTLE * abs(score - float(selection.trials[0].scores.mean())), least)
    words = metric.words
    interval = f"{100 * level:.3g} % interval"
    limit = _SHARE_OF_ERROR * abs((metric.most or 0.0) - score)
    if gain.low > 0 and gain.mean > limit:
        return f"More rows would help: twice as many may improve the {words} by up to {spell_amount(limit, 2)}."
    if gain.low > 0 and gain.mean > little / 2:
        ends = f"{interval} {spell_range(gain.low, min(gain.high, limit), 2)}"
        mean = spell_amount(gain.mean, 2)
        return f"More rows would help: twice as many would improve the {words} by about {mean} ({ends})."
    if gain.high < little:
        most = max(gain.high, 0.0)
        if most < 0.0005 and metric.most is not None:
            return f"More rows of this kind would not help: with twice as many, the {words} would stay about the same."
        return (
            f"More rows of this kind would help little: twice as many would improve the {words} by at most "
            f"{spell_amount(most, 1)}."
        )
    # A true minus, and a plus, so that a reader sees at once that the score may get worse or better.
    low, high = (f"{'+' if end >= 0 else ''}{spell_amount(end, 2)}" for end in (gain.low, min(gain.high, limit)))
    ends = f"{low} to {high} ({interval})"
    return f"It is not clear whether more rows would help: with twice as many, the {words} may change by {ends}."


def split_error(
    selection: Selection, dataset: Dataset, listed: list[Candidate], options: Options
) -> BiasVariance | None:
    """Split the error of some candidates into bias and variance, by training them on random halves."""
    judged = [candidate.name for candidate in listed if candidate.score is not None]
    names = _choose_names(judged, selection.result.winner)
    sample = draw_rows(dataset, _MOST_ROWS, options.seed)
    parts = []
    for name in names:
        trial = selection.result.trial(name)
        estimator = selection.contenders[name].estimator
        parts.append(
            resampled_bias_variance(
                clone(estimator).set_params(**trial.best_setting),
                sample.X,
                sample.y,
                n_sets=10,
                n_jobs=selection.threads(options.n_jobs),
                random_state=options.seed,
            )
        )
    # Errors of numbers are divided by the variance of the target; a Brier score is without unit already.
    unit = float(np.var(sample.y)) if dataset.task == "regression" else 1.0
    bias, variance = [float(part.bias / unit) for part in parts], [float(part.variance / unit) for part in parts]
    chosen = names.index(selection.result.winner)
    # The tiny number keeps an error of zero from being divided by zero.
    share = variance[chosen] / max(bias[chosen] + variance[chosen], 1e-300)
    error = "Brier score" if dataset.task == "classification" else "mean squared error over the variance of the target"
    text = (
        f"Trained on random halves of the rows, {names[chosen]} has {100 * share:.2g} % of its error ({error}) from "
        "variance, that is, from the choice of training rows. The rest is bias and noise."
    )
    return BiasVariance(names, bias, variance, text)


def _choose_names(names: list[str], winner: str, most: int = 5) -> list[str]:
    """Return at most `most` names from simple to complex, with the winner and both ends."""
    if len(names) <= most:
        return names
    places = set(np.linspace(0, len(names) - 1, most).astype(int).tolist())
    chosen = names.index(winner)
    if chosen not in places:
        inner = sorted(places)[1:-1]
        # The winner takes the place of its nearest neighbour, so both ends stay.
        places.remove(min(inner, key=lambda place: abs(place - chosen)))
        places.add(chosen)
    return [names[place] for place in sorted(places)]
