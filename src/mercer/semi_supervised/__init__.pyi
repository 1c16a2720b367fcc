# Written by `python -m tools.make_stubs` from the table in mercer.semi_supervised.
from mercer.semi_supervised._label_models import LabelPropagation as LabelPropagation
from mercer.semi_supervised._label_models import LabelSpreading as LabelSpreading
from mercer.semi_supervised._self_training import SelfTrainingClassifier as SelfTrainingClassifier
