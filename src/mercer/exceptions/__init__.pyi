# Written by `python -m tools.make_stubs` from the table in mercer.exceptions.
from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning
from sklearn.exceptions import DataConversionWarning as DataConversionWarning
from sklearn.exceptions import DataDimensionalityWarning as DataDimensionalityWarning
from sklearn.exceptions import EfficiencyWarning as EfficiencyWarning
from sklearn.exceptions import EstimatorCheckFailedWarning as EstimatorCheckFailedWarning
from sklearn.exceptions import FitFailedWarning as FitFailedWarning
from sklearn.exceptions import NotFittedError as NotFittedError
from sklearn.exceptions import PositiveSpectrumWarning as PositiveSpectrumWarning
from sklearn.exceptions import SkipTestWarning as SkipTestWarning
from sklearn.exceptions import UndefinedMetricWarning as UndefinedMetricWarning
from sklearn.exceptions import UnsetMetadataPassedError as UnsetMetadataPassedError
