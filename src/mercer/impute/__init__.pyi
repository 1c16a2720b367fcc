# Written by `python -m tools.make_stubs` from the table in mercer.impute.
from mercer.impute._iterative_imputer import IterativeImputer as IterativeImputer
from mercer.impute._knn_imputer import KNNImputer as KNNImputer
from mercer.impute._missing_indicator import MissingIndicator as MissingIndicator
from mercer.impute._simple_imputer import SimpleImputer as SimpleImputer
