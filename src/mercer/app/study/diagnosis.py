"""Where the chosen model is right and where it is wrong, by its predictions of unseen rows."""

from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.metrics import average_precision_score, confusion_matrix, precision_recall_curve, roc_auc_score, roc_curve

from mercer.app.study.dataset import Dataset
from mercer.app.study.formatting import spell_amount
from mercer.app.study.record import Calibration, Confusion, HardRow, Rates, Residuals

# Points of a curve in the record; more are not visible in the report.
_POINTS = 200
# Classes for which curves are drawn.
_MOST_CLASSES = 6


def find_seen(predictions: np.ndarray) -> np.ndarray:
    """Return the rows that have a prediction; with splits forward in time the first rows have none."""
    return np.flatnonzero(~np.isnan(predictions.reshape(len(predictions), -1)[:, 0]))


def decide_classes(predictions: np.ndarray, dataset: Dataset, costs: np.ndarray | None) -> np.ndarray:
    """Return the index of the class of least expected cost; the most probable one if `costs` is None."""
    if costs is None:
        return predictions.argmax(axis=1)
    return (predictions @ costs.T).argmin(axis=1)


def count_confusion(true: np.ndarray, answer: np.ndarray, dataset: Dataset) -> Confusion:
    """Count unseen rows by true and predicted class."""
    weight = dataset.weight
    shown = _order_classes(dataset.classes)
    table = confusion_matrix(true, answer, labels=shown, sample_weight=weight)
    return Confusion([dataset.classes[place] for place in shown], table.astype(float).tolist())


def _order_classes(names: list[str]) -> list[int]:
    """Return the indices of the classes in the order in which people read them: 2 before 10 if all are numbers."""
    places = list(range(len(names)))
    try:
        return sorted(places, key=lambda place: float(names[place]))
    except ValueError:
        return places


def measure_calibration(true: np.ndarray, chances: np.ndarray, level: float, n_bins: int = 10) -> Calibration:
    """Compare predicted probabilities with observed shares, in bins of equal counts.

    `true` says whether a row is of the class, `chances` is the predicted probability. Intervals are Jeffreys intervals.
    """
    order = np.argsort(chances, kind="stable")
    # At least ten rows a bin, or the intervals say nothing.
    bins = [rows for rows in np.array_split(order, min(n_bins, max(1, len(chances) // 10))) if len(rows)]
    predicted = np.array([chances[rows].mean() for rows in bins])
    hits = np.array([true[rows].sum() for rows in bins])
    counts = np.array([len(rows) for rows in bins])
    low, high = beta.ppf([[(1 - level) / 2], [(1 + level) / 2]], hits + 0.5, counts - hits + 0.5)
    observed = hits / counts
    # The mean distance between prediction and share, weighted by the bins' rows: the expected calibration error.
    error = float(np.abs(observed - predicted) @ counts / counts.sum())
    outside = int(((predicted < low) | (predicted > high)).sum())
    # If the model is right, 30 of 100 rows with a predicted probability of 30 % are of the class.
    text = f"Predicted probabilities differ from observed shares by {100 * error:.1f} % on average" + (
        f"; in {outside} of {len(bins)} groups of rows by more than chance explains."
        if outside
        else ", which chance can explain."
    )
    return Calibration(predicted.tolist(), observed.tolist(), low.tolist(), high.tolist(), counts.tolist(), error, text)


def measure_rates(true: np.ndarray, predictions: np.ndarray, dataset: Dataset) -> list[Rates]:
    """Return the ROC and precision-recall curves of each class against the rest."""
    first = [dataset.classes[place] for place in _order_classes(dataset.classes)[:_MOST_CLASSES]]
    names = first if dataset.positive is None else [dataset.positive]
    curves = []
    for name in names:
        place = dataset.classes.index(name)
        here, chance = true == place, predictions[:, place]
        # A curve against the rest needs rows of both sides.
        if here.all() or not here.any():
            continue
        false_positive, true_positive, _ = roc_curve(here, chance)
        precision, recall, _ = precision_recall_curve(here, chance)
        curves.append(
            Rates(
                name,
                *_thin(false_positive, true_positive),
                # scikit-learn returns recall falling from one; the picture has it rising.
                *_thin(recall[::-1], precision[::-1]),
                float(roc_auc_score(here, chance)),
                float(average_precision_score(here, chance)),
                float(here.mean()),
            )
        )
    return curves


def _thin(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    """Return at most `_POINTS` points of a curve, with both ends."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), _POINTS)).astype(int))
    return x[kept].tolist(), y[kept].tolist()


def summarise_residuals(true: np.ndarray, predictions: np.ndarray, seed: int, most: int = 1500) -> Residuals:
    """Return true values, predictions and the quantiles of the residuals."""
    left = true - predictions
    quantiles = np.quantile(left, [0.025, 0.25, 0.5, 0.75, 0.975])
    kept = np.arange(len(true))
    if len(true) > most:
        kept = np.sort(np.random.default_rng(seed).choice(len(true), most, replace=False))
    # 1.4826 times the median absolute deviation estimates the standard deviation of a normal distribution.
    large = np.abs(left) > 4 * max(float(np.median(np.abs(left - quantiles[2]))) * 1.4826, 1e-300)
    text = (
        f"For half of the rows, the true value minus the prediction lies between {spell_amount(quantiles[1])} and "
        f"{spell_amount(quantiles[3])}, for 95 % between {spell_amount(quantiles[0])} and {spell_amount(quantiles[4])}."
    )
    if large.mean() > 0.01:
        text += (
            f" For {100 * large.mean():.1f} % of the rows the error is more than four robust standard deviations, so "
            "there are more large errors than a normal distribution has."
        )
    return Residuals(true[kept].tolist(), predictions[kept].tolist(), quantiles.tolist(), text)


def measure_losses(true: np.ndarray, predictions: np.ndarray, task: str) -> np.ndarray:
    """Return a loss between 0 and 1 for each row.

    For classes: one less the probability of the true class. For numbers: the absolute residual over its 99 % quantile.
    """
    if task == "classification":
        return 1 - predictions[np.arange(len(true)), true]
    left = np.abs(true - predictions)
    return np.clip(left / max(float(np.quantile(left, 0.99)), 1e-300), 0, 1)


def list_hard_rows(
    dataset: Dataset, true: np.ndarray, predictions: np.ndarray, shown: list[str], n_rows: int = 10
) -> list[HardRow]:
    """Return the rows with the worst predictions while they were unseen."""
    sizes = measure_losses(true, predictions, "classification") if dataset.classes else np.abs(true - predictions)
    worst = np.argsort(-sizes, kind="stable")[:n_rows]
    return [
        HardRow(
            # Rows are counted from 1 for people.
            int(dataset.rows[row]) + 1,
            dataset.classes[true[row]] if dataset.classes else f"{true[row]:.6g}",
            _describe_prediction(predictions[row], dataset),
            float(sizes[row]),
            {name: spell_cell(dataset.X[name].iloc[row]) for name in shown},
        )
        for row in worst
    ]


def _describe_prediction(prediction: Any, dataset: Dataset) -> str:
    """Return a prediction as text; a class with its probability."""
    if not dataset.classes:
        return f"{prediction:.6g}"
    best = int(np.argmax(prediction))
    return f"{dataset.classes[best]} ({prediction[best]:.0%})".replace("%", " %")


def spell_cell(value: Any) -> str:
    """Return a cell of a table as text."""
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else f"{value:.6g}"
    if value is None or value != value:
        return "missing"
    # A date without a time of day is shown as a date.
    return str(value).removesuffix(" 00:00:00")
