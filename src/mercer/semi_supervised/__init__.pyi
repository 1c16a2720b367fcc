# Written by `python -m tools.make_stubs` from the table in mercer.semi_supervised.
from sklearn.semi_supervised import LabelPropagation as LabelPropagation
from sklearn.semi_supervised import LabelSpreading as LabelSpreading
from sklearn.semi_supervised import SelfTrainingClassifier as SelfTrainingClassifier
