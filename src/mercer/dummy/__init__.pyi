# Written by `python -m tools.make_stubs` from the table in mercer.dummy.
from mercer.dummy._dummies import DummyClassifier as DummyClassifier
from mercer.dummy._dummies import DummyRegressor as DummyRegressor
