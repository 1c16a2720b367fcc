# Written by `python -m tools.make_stubs` from the table in mercer.impute.
from sklearn.impute import KNNImputer as KNNImputer
from sklearn.impute import MissingIndicator as MissingIndicator
from sklearn.impute import SimpleImputer as SimpleImputer
