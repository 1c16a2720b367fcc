# Written by `python -m tools.make_stubs` from the table in mercer.multioutput.
from mercer.multioutput._chains import ClassifierChain as ClassifierChain
from mercer.multioutput._chains import RegressorChain as RegressorChain
from mercer.multioutput._targets import MultiOutputClassifier as MultiOutputClassifier
from mercer.multioutput._targets import MultiOutputRegressor as MultiOutputRegressor
