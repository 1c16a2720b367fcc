"""Calibrators in scikit-learn's own classes."""

from typing import Any

from sklearn.isotonic import IsotonicRegression

from mercer._base.model_file.registry import PART_MAKERS


def convert_calibrator(calibrator: Any, method: str) -> Any:
    """Return scikit-learn's calibrator that equals one of ours."""
    if method == "isotonic":
        made: Any = IsotonicRegression(out_of_bounds="clip")
        names = ["X_thresholds_", "y_thresholds_", "X_min_", "X_max_", "increasing_"]
        # It makes its function of the thresholds as it is unpickled.
        made.__setstate__(made.__getstate__() | {name: getattr(calibrator, name) for name in names})
        return made
    made = PART_MAKERS[f"sklearn.calibration.CalibratedClassifierCV.{method}"]()()
    for name in ("a_", "b_") if method == "sigmoid" else ("beta_",):
        setattr(made, name, getattr(calibrator, name))
    return made


def join_calibrated(model: Any, calibrators: list[Any], classes: Any, method: str) -> Any:
    """Return scikit-learn's record of a fitted classifier and the calibrators of its scores."""
    make = PART_MAKERS["sklearn.calibration.CalibratedClassifierCV.calibrated_classifiers_"]()
    return make(model, [convert_calibrator(one, method) for one in calibrators], classes=classes, method=method)
