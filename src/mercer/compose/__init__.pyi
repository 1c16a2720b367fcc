# Written by `python -m tools.make_stubs` from the table in mercer.compose.
from sklearn.compose import ColumnTransformer as ColumnTransformer
from sklearn.compose import TransformedTargetRegressor as TransformedTargetRegressor
from sklearn.compose import make_column_selector as make_column_selector
from sklearn.compose import make_column_transformer as make_column_transformer
