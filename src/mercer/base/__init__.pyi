# Written by `python -m tools.make_stubs` from the table in mercer.base.
from sklearn.base import BaseEstimator as BaseEstimator
from sklearn.base import BiclusterMixin as BiclusterMixin
from sklearn.base import ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin
from sklearn.base import ClassifierMixin as ClassifierMixin
from sklearn.base import ClusterMixin as ClusterMixin
from sklearn.base import DensityMixin as DensityMixin
from sklearn.base import MetaEstimatorMixin as MetaEstimatorMixin
from sklearn.base import MultiOutputMixin as MultiOutputMixin
from sklearn.base import OneToOneFeatureMixin as OneToOneFeatureMixin
from sklearn.base import OutlierMixin as OutlierMixin
from sklearn.base import RegressorMixin as RegressorMixin
from sklearn.base import TransformerMixin as TransformerMixin
from sklearn.base import clone as clone
from sklearn.base import is_classifier as is_classifier
from sklearn.base import is_clusterer as is_clusterer
from sklearn.base import is_outlier_detector as is_outlier_detector
from sklearn.base import is_regressor as is_regressor
