# Written by `python -m tools.make_stubs` from the table in mercer.compose.
from mercer.compose._column_transformer import ColumnTransformer as ColumnTransformer
from mercer.compose._make import make_column_transformer as make_column_transformer
from mercer.compose._transformed_target import TransformedTargetRegressor as TransformedTargetRegressor
from sklearn.compose import make_column_selector as make_column_selector
