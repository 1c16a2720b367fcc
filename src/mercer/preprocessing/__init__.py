"""Columns made of columns: tables as numbers, unit variance, basis functions to bend linear models, centred kernels."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_binarizer": ("Binarizer",),
        "_categories.one_hot": ("OneHotEncoder",),
        "_categories.ordinal": ("OrdinalEncoder",),
        "_categories.target": ("TargetEncoder",),
        "_fourier": ("FourierBasis",),
        "_k_bins": ("KBinsDiscretizer",),
        "_kernel_centerer": ("KernelCenterer",),
        "_labels": ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer"),
        "_max_abs_scaler": ("MaxAbsScaler",),
        "_min_max_scaler": ("MinMaxScaler",),
        "_normalizer": ("Normalizer",),
        "_polynomial": ("PolynomialBasis",),
        "_power_transformer": ("PowerTransformer",),
        "_quantile_transformer": ("QuantileTransformer",),
        "_radial": ("RadialBasis",),
        "_robust_scaler": ("RobustScaler",),
        "_spline": ("SplineBasis",),
        "_standard_scaler": ("StandardScaler",),
        "_streamed.datetime_encoder": ("DatetimeEncoder",),
        "_streamed.function_transformer": ("FunctionTransformer",),
        "_streamed.min_hash_encoder": ("MinHashEncoder",),
        "_streamed.polynomial_features": ("PolynomialFeatures",),
        "_streamed.spline_transformer": ("SplineTransformer",),
        "_schema": ("ColumnSchema", "TableSchema"),
        "_table_encoder": ("TableEncoder", "read_schema"),
        "_word_presence": ("WordPresence",),
    },
    scikit="sklearn.preprocessing",
)
