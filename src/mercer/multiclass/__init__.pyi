# Written by `python -m tools.make_stubs` from the table in mercer.multiclass.
from mercer.multiclass._classifiers import OneVsOneClassifier as OneVsOneClassifier
from mercer.multiclass._classifiers import OneVsRestClassifier as OneVsRestClassifier
from mercer.multiclass._classifiers import OutputCodeClassifier as OutputCodeClassifier
