# Written by `python -m tools.make_stubs` from the table in mercer.frozen.
from sklearn.frozen import FrozenEstimator as FrozenEstimator
