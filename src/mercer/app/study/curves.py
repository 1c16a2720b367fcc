"""Whether more rows would help, and whether the error is bias or variance."""

import numpy as np
from sklearn.base import clone

from mercer.app.options import Options
from mercer.app.study.choice.selection import Selection
from mercer.app.study.material import Material, draw_rows
from mercer.app.study.record import BiasVariance, Candidate, Curve
from mercer.model_selection import resampled_bias_variance
from mercer.model_selection.trials import order_growing, score_sizes

__all__ = ["make_learning_curve", "split_error"]

# Shares of the training rows at which the learning curve is measured; no point has fewer than `_FEWEST` rows.
_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
_FEWEST = 20
# Bias and variance are measured on at most this many rows: they take ten fits of each candidate.
_MOST_ROWS = 3000


def make_learning_curve(selection: Selection, material: Material, options: Options) -> Curve | None:
    """Return the scores of the chosen model for more and more training rows."""
    plan, metric = selection.plan, selection.metric
    splits = plan.outer[: min(len(plan.outer), 3 if len(material) > 20_000 else 5)]
    largest = min(len(train) for train, _ in splits)
    sizes = np.unique([max(_FEWEST, int(share * largest)) for share in _SHARES if share * largest >= _FEWEST / 2])
    if len(sizes) < 2:
        return None
    labels = material.y if material.task == "classification" else None
    orders = [
        order_growing(train, labels, options.seed + fold, material.time is not None)
        for fold, (train, _) in enumerate(splits)
    ]
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
        text=_describe_curve(train, test, sizes, metric.words),
    )


def _describe_curve(train: np.ndarray, test: np.ndarray, sizes: np.ndarray, words: str) -> str:
    """Return in words whether the score still improves with the number of rows."""
    gain = float(test[-1].mean() - test[-2].mean())
    error = float((test[-1] - test[-2]).std(ddof=1) / np.sqrt(test.shape[1]))
    gap = float(train[-1].mean() - test[-1].mean())
    if gain > 2 * error and gain > 0.002 * abs(float(test[-1].mean())):
        verdict = f"still improved by {gain:.2g}: more rows would help."
    else:
        verdict = "hardly changed: more rows of this kind would help little."
    verdict = f"From {sizes[-2]} to {sizes[-1]} rows the {words} {verdict}"
    return verdict + f" On training rows it is {gap:.2g} better than on unseen rows."


def split_error(
    selection: Selection, material: Material, listed: list[Candidate], options: Options
) -> BiasVariance | None:
    """Split the error of some candidates into bias and variance, by training them on random halves."""
    judged = [candidate.name for candidate in listed if candidate.score is not None]
    names = _choose_names(judged, selection.result.winner)
    sample = draw_rows(material, _MOST_ROWS, options.seed)
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
    unit = float(np.var(sample.y)) if material.task == "regression" else 1.0
    bias, variance = [float(part.bias / unit) for part in parts], [float(part.variance / unit) for part in parts]
    chosen = names.index(selection.result.winner)
    share = variance[chosen] / max(bias[chosen] + variance[chosen], 1e-300)
    error = "Brier score" if material.task == "classification" else "mean squared error over the variance of the target"
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
        places.remove(min(inner, key=lambda place: abs(place - chosen)))
        places.add(chosen)
    return [names[place] for place in sorted(places)]
