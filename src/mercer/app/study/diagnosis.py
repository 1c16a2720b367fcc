"""Where the chosen model is right and wrong, by its predictions of rows it had not seen."""

from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.metrics import average_precision_score, confusion_matrix, precision_recall_curve, roc_auc_score, roc_curve

from mercer.app.study.material import Material
from mercer.app.study.record import Calibration, Confusion, HardRow, Rates, Residuals

__all__ = ["calibration", "confusion", "decided", "hard_rows", "rates", "residuals", "row_losses", "seen", "shown_text"]

_POINTS = 200
_MOST_CLASSES = 6


def seen(told: np.ndarray) -> np.ndarray:
    """Rows that were tested while they were unseen: all, but where splits go forward in time."""
    return np.flatnonzero(~np.isnan(told.reshape(len(told), -1)[:, 0]))


def decided(told: np.ndarray, material: Material, costs: np.ndarray | None) -> np.ndarray:
    """The class that is decided for, from probabilities, in numbers."""
    if costs is None:
        return told.argmax(axis=1)
    return (told @ costs.T).argmin(axis=1)


def confusion(true: np.ndarray, answer: np.ndarray, material: Material) -> Confusion:
    """Counts of unseen rows by true and predicted class."""
    weight = material.weight
    table = confusion_matrix(true, answer, labels=range(len(material.classes)), sample_weight=weight)
    return Confusion(material.classes, table.astype(float).tolist())


def calibration(true: np.ndarray, told: np.ndarray, level: float, n_bins: int = 10) -> Calibration:
    """Predicted probability against observed share, in bins of equal counts.

    `true` says whether the class was there, `told` its probability. Intervals are Jeffreys'.
    """
    order = np.argsort(told, kind="stable")
    bins = [one for one in np.array_split(order, min(n_bins, max(1, len(told) // 10))) if len(one)]
    predicted = np.array([told[one].mean() for one in bins])
    hits = np.array([true[one].sum() for one in bins])
    counts = np.array([len(one) for one in bins])
    low, high = beta.ppf([[(1 - level) / 2], [(1 + level) / 2]], hits + 0.5, counts - hits + 0.5)
    observed = hits / counts
    error = float(np.abs(observed - predicted) @ counts / counts.sum())
    outside = int(((predicted < low) | (predicted > high)).sum())
    text = (
        f"Probabilities are off by {error:.1%} on average".replace("%", " %")
        + f"; {outside} of {len(bins)} bins lie outside their interval."
        if outside
        else f"Probabilities are off by {error:.1%} on average, no more than chance explains.".replace("%", " %")
    )
    return Calibration(predicted.tolist(), observed.tolist(), low.tolist(), high.tolist(), counts.tolist(), error, text)


def rates(true: np.ndarray, told: np.ndarray, material: Material) -> list[Rates]:
    """ROC and precision-recall curves of each class against the rest."""
    names = [material.positive] if material.positive is not None else material.classes[:_MOST_CLASSES]
    found = []
    for name in names:
        number = material.classes.index(name)
        here, chance = true == number, told[:, number]
        if here.all() or not here.any():
            continue
        false_positive, true_positive, _ = roc_curve(here, chance)
        precision, recall, _ = precision_recall_curve(here, chance)
        found.append(
            Rates(
                name,
                *_thinned(false_positive, true_positive),
                *_thinned(recall[::-1], precision[::-1]),
                float(roc_auc_score(here, chance)),
                float(average_precision_score(here, chance)),
                float(here.mean()),
            )
        )
    return found


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    """At most so many points of a curve, with its ends."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), _POINTS)).astype(int))
    return x[kept].tolist(), y[kept].tolist()


def residuals(true: np.ndarray, told: np.ndarray, seed: int, most: int = 1500) -> Residuals:
    """True values, predictions and what is left."""
    left = true - told
    quantiles = np.quantile(left, [0.025, 0.25, 0.5, 0.75, 0.975])
    kept = np.arange(len(true))
    if len(true) > most:
        kept = np.sort(np.random.default_rng(seed).choice(len(true), most, replace=False))
    large = np.abs(left) > 4 * max(float(np.median(np.abs(left - quantiles[2]))) * 1.4826, 1e-300)
    text = (
        f"Half of the predictions are within {quantiles[1]:.3g} to {quantiles[3]:+.3g} of the truth, and 95 % within "
        f"{quantiles[0]:.3g} to {quantiles[4]:+.3g}."
    )
    if large.mean() > 0.01:
        text += f" {large.mean():.1%} of rows are further off than four spreads: tails are heavy.".replace("%", " %")
    return Residuals(true[kept].tolist(), told[kept].tolist(), quantiles.tolist(), text)


def row_losses(true: np.ndarray, told: np.ndarray, task: str) -> np.ndarray:
    """The loss of each row, 0 to 1: the probability denied to its class, or the residual beside the largest usual."""
    if task == "classification":
        return 1 - told[np.arange(len(true)), true]
    left = np.abs(true - told)
    return np.clip(left / max(float(np.quantile(left, 0.99)), 1e-300), 0, 1)


def hard_rows(
    material: Material, true: np.ndarray, told: np.ndarray, shown: list[str], n_rows: int = 10
) -> list[HardRow]:
    """The rows that the model got most wrong while they were unseen."""
    sizes = row_losses(true, told, "classification") if material.classes else np.abs(true - told)
    worst = np.argsort(-sizes, kind="stable")[:n_rows]
    return [
        HardRow(
            int(material.rows[one]) + 1,
            material.classes[true[one]] if material.classes else f"{true[one]:.6g}",
            _words(told[one], material),
            float(sizes[one]),
            {name: shown_text(material.X[name].iloc[one]) for name in shown},
        )
        for one in worst
    ]


def _words(told: Any, material: Material) -> str:
    if not material.classes:
        return f"{told:.6g}"
    best = int(np.argmax(told))
    return f"{material.classes[best]} ({told[best]:.0%})".replace("%", " %")


def shown_text(value: Any) -> str:
    """A value of a table as it is shown."""
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else f"{value:.6g}"
    if value is None or value != value:
        return "missing"
    # A day has no hour worth showing.
    return str(value).removesuffix(" 00:00:00")
