"""A classifier with the maps that turn its scores into probabilities."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from mercer._base.calibrating import TOLERANCE, bound_steps, fit_beta, fit_dirichlet, fit_sigmoid, fit_temperature
from mercer._plain import plain
from mercer._solver import Certificate
from mercer._stored import Stored, choice, floats, labels, members, part
from mercer._types import Array
from mercer.errors import DataError, ModelFileError
from mercer.isotonic import IsotonicRegression

METHODS = ("sigmoid", "isotonic", "temperature", "beta", "dirichlet", "venn_abers")
# Maps of probabilities, which scores without a unit cannot replace.
_OF_SHARES = ("beta", "dirichlet")
# Maps of the scores of all classes at once; the others serve each class against the rest.
_OF_ALL = ("temperature", "dirichlet")
_GRADIENT = (
    "Largest derivative of the mean log loss of the rows that calibrate, by the parameters of scores whose largest "
    "magnitude is one (sigmoid, beta, Dirichlet) or by the logarithm of the inverse temperature."
)
_STEPS = "Largest amount by which the two probabilities of a score cross, or fall from a score to the next."
# Rounding of sums of the rows.
_ROUNDING = 1e-9
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
        return softmax(self.beta_ * logits)


@plain
@dataclass(frozen=True)
class BetaCalibrator:
    """The probability with the log-odds a log s - b log(1 - s) + c of a probability s."""

    a_: float
    b_: float
    c_: float

    _stored: ClassVar[dict[str, Stored]] = {"a_": floats(), "b_": floats(), "c_": floats()}

    def predict(self, shares: Array) -> Array:
        """Return the probability of each row."""
        s = np.clip(shares, _LEAST, 1.0 - _LEAST)
        return expit(self.a_ * np.log(s) - self.b_ * np.log1p(-s) + self.c_)


@plain
@dataclass(frozen=True, eq=False)
class DirichletCalibrator:
    """The probabilities softmax(W log p + b) of the probabilities p of all classes; (W, b) are `coef_`."""

    coef_: Array

    _stored: ClassVar[dict[str, Stored]] = {"coef_": floats("classes, *")}

    def check_fields(self) -> None:
        """Raise ModelFileError unless each class has a coefficient of every class, and a shift."""
        if self.coef_.shape[1] != len(self.coef_) + 1:
            raise ModelFileError(
                f"DirichletCalibrator.coef_ must have one column more than rows; the file has {self.coef_.shape}."
            )

    def predict(self, logs: Array) -> Array:
        """Return the probabilities of each row from the logarithms of its probabilities."""
        return softmax(logs @ self.coef_[:, :-1].T + self.coef_[:, -1])


@plain
@dataclass(frozen=True, eq=False)
class VennAbersCalibrator:
    """Two probabilities at each score that occurred, and their answer in one: p1 / (1 - p0 + p1)."""

    scores_: Array
    low_: Array
    high_: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "scores_": floats("points"),
        "low_": floats("points"),
        "high_": floats("points"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError unless there is a score at least, and they rise."""
        if not len(self.scores_) or (np.diff(self.scores_) <= 0).any():
            raise ModelFileError("VennAbersCalibrator.scores_ must be one or more numbers that rise.")

    def bound(self, scores: Array) -> tuple[Array, Array]:
        """Return the probability of each row if it were of the other class, and if it were of the class itself."""
        last = len(self.scores_) - 1
        below = np.searchsorted(self.scores_, scores, side="right") - 1
        above = np.searchsorted(self.scores_, scores, side="left")
        # Beyond the ends there is no row to share a step with: nothing is known on that side.
        low = np.where(below < 0, 0.0, self.low_[below.clip(0)])
        high = np.where(above > last, 1.0, self.high_[above.clip(None, last)])
        return low, high

    def predict(self, scores: Array) -> Array:
        """Return the probability of each row with the least regret in the log loss, whichever bound is right."""
        low, high = self.bound(scores)
        return high / (1.0 - low + high)


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
        "calibrators": members(
            part(
                "SigmoidCalibrator",
                "TemperatureCalibrator",
                "IsotonicRegression",
                "BetaCalibrator",
                "DirichletCalibrator",
                "VennAbersCalibrator",
            )
        ),
        "classes": labels("classes"),
        "method": choice(*METHODS),
        "certificate": part("Certificate"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError unless there is a calibrator for each column of scores."""
        known = len(getattr(self.estimator, "classes_", ()))
        wanted = 1 if self.method in _OF_ALL or len(self.classes) == 2 else known
        if len(self.calibrators) != wanted:
            raise ModelFileError(
                f"CalibratedClassifier.calibrators must be {wanted}, one for each score; the file has "
                f"{len(self.calibrators)}."
            )

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, of shape (n_rows, n_classes)."""
        return self.calibrate(read_scores(self.estimator, X, len(self.classes), self.method))

    def calibrate(self, scores: Array) -> Array:
        """Return the probability of each class from scores as :func:`read_scores` gives them."""
        if self.method in _OF_ALL:
            return self.calibrators[0].predict(find_logits(self.estimator, scores, self.method))
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


def softmax(logits: Array) -> Array:
    """Return the probabilities of each row from its log-odds."""
    # The highest score of a row becomes zero: exponentials stay finite.
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def find_method(estimator: Any, calibration: str) -> str:
    """Return the method whose output is calibrated: scores, and probabilities where there are none, or they must be."""
    if calibration in _OF_SHARES:
        if hasattr(estimator, "predict_proba"):
            return "predict_proba"
        raise DataError(
            f"CalibratedClassifierCV: method={calibration!r} maps probabilities, so that estimator must have "
            f"predict_proba; {type(estimator).__name__} has none. Take 'sigmoid', 'isotonic' or 'venn_abers'."
        )
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            return method
    raise DataError(
        f"CalibratedClassifierCV: estimator must have decision_function or predict_proba; {type(estimator).__name__} "
        f"has neither. Take another classifier."
    )


def read_scores(estimator: Any, X: Any, n_classes: int, calibration: str) -> Array:
    """Return the scores of rows, a column for each class of the estimator; one column where there are two classes."""
    method = find_method(estimator, calibration)
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


def find_logits(estimator: Any, scores: Array, calibration: str) -> Array:
    """Return the log-odds of all classes that are mapped: scores themselves, or logarithms of probabilities."""
    scored = find_method(estimator, calibration) == "decision_function"
    if scores.shape[1] == 1:
        scores = np.concatenate([-scores, scores] if scored else [1.0 - scores, scores], axis=1)
    return scores if scored else np.log(scores + _LEAST)


def fit_calibrators(
    estimator: Any, scores: Array, y: Array, classes: Array, method: str, weight: Array | None
) -> CalibratedClassifier:
    """Fit the calibrators of a fitted classifier to its scores of rows with known classes."""
    codes = np.searchsorted(classes, y)
    if method in _OF_ALL:
        logits = find_logits(estimator, scores, method)
        if logits.shape[1] != len(classes):
            raise DataError(
                f"CalibratedClassifierCV: method={method!r} needs a score for each of the {len(classes)} classes; "
                f"the classifier of a fold knows {logits.shape[1]}. Give fewer folds, or more rows of each class."
            )
        joint: Any
        if method == "temperature":
            beta, left = fit_temperature(logits, codes, weight)
            joint = TemperatureCalibrator(beta)
        else:
            coefficients, left = fit_dirichlet(np.exp(logits), codes, weight)
            joint = DirichletCalibrator(coefficients)
        certificate = Certificate.of("gradient norm", left, TOLERANCE, _GRADIENT)
        return CalibratedClassifier(estimator, (joint,), classes, method, certificate)
    places = np.array([1]) if len(classes) == 2 else np.searchsorted(classes, estimator.classes_)
    calibrators: list[Any] = []
    certificates = []
    for place, column in zip(places, np.ascontiguousarray(scores.T), strict=True):
        calibrator, certificate = _fit_one(method, column, codes == place, weight)
        calibrators.append(calibrator)
        certificates.append(certificate)
    return CalibratedClassifier(estimator, tuple(calibrators), classes, method, find_worst(certificates))


def _fit_one(method: str, column: Array, positive: Array, weight: Array | None) -> tuple[Any, Certificate]:
    """Return the map of one class against the rest, with what certifies it."""
    if method == "isotonic":
        steps = IsotonicRegression(out_of_bounds="clip").fit(column, positive.astype(np.float64), weight)
        return steps, steps.certificate_
    if method == "venn_abers":
        points, low, high = bound_steps(column, positive, weight)
        falls = [np.max(low - high), *(np.max(-np.diff(one), initial=0.0) for one in (low, high))]
        bounds = VennAbersCalibrator(points, low, high)
        return bounds, Certificate.of("residual", float(max(0.0, *falls)), _ROUNDING, _STEPS)
    if method == "beta":
        (a, b, c), left = fit_beta(np.clip(column, _LEAST, 1.0 - _LEAST), positive, weight)
        return BetaCalibrator(float(a), float(b), float(c)), Certificate.of("gradient norm", left, TOLERANCE, _GRADIENT)
    a, b, left = fit_sigmoid(column, positive, weight)
    return SigmoidCalibrator(a, b), Certificate.of("gradient norm", left, TOLERANCE, _GRADIENT)


def find_worst(certificates: list[Certificate]) -> Certificate:
    """Return the certificate that is farthest from its tolerance."""
    return max(certificates, key=lambda one: one.value / one.tolerance)
