# Written by `python -m tools.make_stubs` from the table in mercer.multiclass.
from sklearn.multiclass import OneVsOneClassifier as OneVsOneClassifier
from sklearn.multiclass import OneVsRestClassifier as OneVsRestClassifier
from sklearn.multiclass import OutputCodeClassifier as OutputCodeClassifier
