# Written by `python -m tools.make_stubs` from the table in mercer.explain.
from mercer.explain._explanation import ShapleyValues as ShapleyValues
from mercer.explain._shapley import shapley as shapley
