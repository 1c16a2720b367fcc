# Written by `python -m tools.make_stubs` from the table in mercer.dummy.
from sklearn.dummy import DummyClassifier as DummyClassifier
from sklearn.dummy import DummyRegressor as DummyRegressor
