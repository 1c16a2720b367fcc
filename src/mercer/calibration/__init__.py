"""Calibration: probabilities that are as often right as they say."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {"_calibrated": ("CalibratedClassifierCV",)},
    scikit="sklearn.calibration",
)
