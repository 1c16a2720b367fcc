"""A classifier with the maps that turn its scores into probabilities."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from mercer._base.calibrating import TOLERANCE, fit_sigmoid, fit_temperature
from mercer._plain import plain
from mercer._solver import Certificate
from mercer._stored import Stored, choice, floats, labels, members, part
from mercer._types import Array
from mercer.errors import DataError, ModelFileError
from mercer.isotonic import IsotonicRegression

_GRADIENT = (
    "Largest derivative of the mean log loss of the rows that calibrate, by the parameters of scores whose largest "
    "magnitude is one (sigmoid) or by the logarithm of the inverse temperature."
)
# Keeps the logarithm of a probability of zero finite, as in scikit-learn.
_LEAST = 1e-12


@plain
@dataclass(frozen=True)
class SigmoidCalibrator:
    """The probability 1 / (1 + exp(a f + b)) of a score f."""

    a_: float
    b_: float

    _stored: ClassVar[dict[str, Stored]] = {"a_": floats(), "b_": floats()}

    def predict(self, scores: Array) -> Array:
        """Return the probability of each score."""
        return expit(-(self.a_ * scores + self.b_))


@plain
@dataclass(frozen=True)
class TemperatureCalibrator:
    """The probabilities softmax(beta z) of the scores z of all classes."""

    beta_: float

    _stored: ClassVar[dict[str, Stored]] = {"beta_": floats()}

    def predict(self, logits: Array) -> Array:
        """Return the probabilities of each row."""
        # The highest score of a row becomes zero: exponentials stay finite.
        odds = np.exp(self.beta_ * (logits - logits.max(axis=1, keepdims=True)))
        return odds / odds.sum(axis=1, keepdims=True)


@plain
@dataclass(frozen=True, eq=False)
class CalibratedClassifier:
    """A fitted classifier, the calibrators of its scores, all classes, and what certifies the calibrators."""

    estimator: Any
    calibrators: Any
    classes: Array
    method: str
    certificate: Certificate

    _stored: ClassVar[dict[str, Stored]] = {
        "estimator": part("BaseEstimator"),
        "calibrators": members(part("SigmoidCalibrator", "TemperatureCalibrator", "IsotonicRegression")),
        "classes": labels("classes"),
        "method": choice("sigmoid", "isotonic", "temperature"),
        "certificate": part("Certificate"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError unless there is a calibrator for each column of scores."""
        known = len(getattr(self.estimator, "classes_", ()))
        wanted = 1 if self.method == "temperature" or len(self.classes) == 2 else known
        if len(self.calibrators) != wanted:
            raise ModelFileError(
                f"CalibratedClassifier.calibrators must be {wanted}, one for each score; the file has "
                f"{len(self.calibrators)}."
            )

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, of shape (n_rows, n_classes)."""
        return self.calibrate(read_scores(self.estimator, X, len(self.classes)))

    def calibrate(self, scores: Array) -> Array:
        """Return the probability of each class from scores as :func:`read_scores` gives them."""
        if self.method == "temperature":
            return self.calibrators[0].predict(find_logits(self.estimator, scores))
        n_classes = len(self.classes)
        if n_classes == 2:
            own = self.calibrators[0].predict(scores[:, 0])
            return np.column_stack([1.0 - own, own])
        shares = np.zeros((len(scores), n_classes))
        places = np.searchsorted(self.classes, self.estimator.classes_)
        for place, column, calibrator in zip(places, scores.T, self.calibrators, strict=True):
            shares[:, place] = calibrator.predict(np.ascontiguousarray(column))
        total = shares.sum(axis=1, keepdims=True)
        # Where every calibrator says zero, all classes are as likely.
        return np.divide(shares, total, out=np.full_like(shares, 1.0 / n_classes), where=total > 0)


def find_method(estimator: Any) -> str:
    """Return the method whose output is calibrated: scores, and probabilities where there are none."""
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            return method
    raise DataError(
        f"CalibratedClassifierCV: estimator must have decision_function or predict_proba; {type(estimator).__name__} "
        f"has neither. Take another classifier."
    )


def read_scores(estimator: Any, X: Any, n_classes: int) -> Array:
    """Return the scores of rows, a column for each class of the estimator; one column where there are two classes."""
    method = find_method(estimator)
    return shape_scores(getattr(estimator, method)(X), method, len(estimator.classes_), n_classes)


def shape_scores(output: Any, method: str, known: int, n_classes: int) -> Array:
    """Return what a method said of rows as columns of scores; `known` classes out of all `n_classes` were seen."""
    scores = np.asarray(output, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores[:, 1:] if n_classes == 2 else scores
    scores = scores.reshape(-1, 1)
    if known == n_classes == 2 or known == 1:
        return scores
    # A classifier that has seen two of more classes scores the second of them.
    return np.concatenate([-scores, scores] if method == "decision_function" else [1.0 - scores, scores], axis=1)


def find_logits(estimator: Any, scores: Array) -> Array:
    """Return the log-odds that a temperature divides: scores themselves, or logarithms of probabilities."""
    scored = find_method(estimator) == "decision_function"
    if scores.shape[1] == 1:
        scores = np.concatenate([-scores, scores] if scored else [1.0 - scores, scores], axis=1)
    return scores if scored else np.log(scores + _LEAST)


def fit_calibrators(
    estimator: Any, scores: Array, y: Array, classes: Array, method: str, weight: Array | None
) -> CalibratedClassifier:
    """Fit the calibrators of a fitted classifier to its scores of rows with known classes."""
    codes = np.searchsorted(classes, y)
    if method == "temperature":
        logits = find_logits(estimator, scores)
        if logits.shape[1] != len(classes):
            raise DataError(
                f"CalibratedClassifierCV: method='temperature' needs a score for each of the {len(classes)} classes; "
                f"the classifier of a fold knows {logits.shape[1]}. Give fewer folds, or more rows of each class."
            )
        beta, left = fit_temperature(logits, codes, weight)
        certificate = Certificate.of("gradient norm", left, TOLERANCE, _GRADIENT)
        return CalibratedClassifier(estimator, (TemperatureCalibrator(beta),), classes, method, certificate)
    places = np.array([1]) if len(classes) == 2 else np.searchsorted(classes, estimator.classes_)
    calibrators: list[Any] = []
    certificates = []
    for place, column in zip(places, np.ascontiguousarray(scores.T), strict=True):
        positive = codes == place
        if method == "isotonic":
            steps = IsotonicRegression(out_of_bounds="clip").fit(column, positive.astype(np.float64), weight)
            calibrators.append(steps)
            certificates.append(steps.certificate_)
        else:
            a, b, left = fit_sigmoid(column, positive, weight)
            calibrators.append(SigmoidCalibrator(a, b))
            certificates.append(Certificate.of("gradient norm", left, TOLERANCE, _GRADIENT))
    return CalibratedClassifier(estimator, tuple(calibrators), classes, method, find_worst(certificates))


def find_worst(certificates: list[Certificate]) -> Certificate:
    """Return the certificate that is farthest from its tolerance."""
    return max(certificates, key=lambda one: one.value / one.tolerance)
