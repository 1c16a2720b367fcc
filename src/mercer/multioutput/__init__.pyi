# Written by `python -m tools.make_stubs` from the table in mercer.multioutput.
from sklearn.multioutput import ClassifierChain as ClassifierChain
from sklearn.multioutput import MultiOutputClassifier as MultiOutputClassifier
from sklearn.multioutput import MultiOutputRegressor as MultiOutputRegressor
from sklearn.multioutput import RegressorChain as RegressorChain
