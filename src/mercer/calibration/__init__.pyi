# Written by `python -m tools.make_stubs` from the table in mercer.calibration.
from mercer.calibration._calibrated import CalibratedClassifierCV as CalibratedClassifierCV
from sklearn.calibration import CalibrationDisplay as CalibrationDisplay
from sklearn.calibration import calibration_curve as calibration_curve
