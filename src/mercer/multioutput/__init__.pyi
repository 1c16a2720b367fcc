# Written by `python -m tools.make_stubs` from the table in mercer.multioutput.
from mercer.multioutput._targets import MultiOutputClassifier as MultiOutputClassifier
from mercer.multioutput._targets import MultiOutputRegressor as MultiOutputRegressor
from sklearn.multioutput import ClassifierChain as ClassifierChain
from sklearn.multioutput import RegressorChain as RegressorChain
