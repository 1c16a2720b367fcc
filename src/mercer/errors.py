"""Every exception and warning that mercer raises on purpose.

    MercerError
    +-- ParameterError (ValueError, TypeError)      a constructor parameter is outside its declared range
    |   +-- UnsupportedError (NotImplementedError)  parameters that are fine one by one cannot be had together
    +-- DataError (ValueError)                      the data cannot be used as given
    |   +-- DataTypeError (TypeError)               the data holds things of a type that cannot be used
    +-- MemoryForecastError (MemoryError)           a fit would need more memory than allowed
    +-- ModelFileError (ValueError)                 a model file is corrupt, hostile, or of an unknown kind
    +-- CheckpointError (ValueError)                a checkpoint belongs to another fit
    +-- CpuLevelError (ImportError)                 MERCER_CPU names a level that is unknown or cannot run here

    UserWarning
    +-- InterruptWarning                            a fit was ended early and its last complete state was kept

What scikit-learn users already catch keeps its type: `NotFittedError` and `ConvergenceWarning` are scikit-learn's own,
and each error above is also the built-in exception in parentheses.
"""

__all__ = [
    "CheckpointError",
    "CpuLevelError",
    "DataError",
    "DataTypeError",
    "InterruptWarning",
    "MemoryForecastError",
    "MercerError",
    "ModelFileError",
    "ParameterError",
    "UnsupportedError",
]


class MercerError(Exception):
    """Base of all errors raised on purpose by mercer."""


class ParameterError(MercerError, ValueError, TypeError):
    """A constructor parameter is outside its declared range."""


class UnsupportedError(ParameterError, NotImplementedError):
    """Parameters that are fine one by one cannot be had together."""


class DataError(MercerError, ValueError):
    """The data cannot be used as given."""


class DataTypeError(DataError, TypeError):
    """The data holds things of a type that cannot be used."""


class MemoryForecastError(MercerError, MemoryError):
    """A fit would need more memory than it is allowed to take."""


class ModelFileError(MercerError, ValueError):
    """A model file is corrupt, hostile, or of an unknown kind."""


class CheckpointError(MercerError, ValueError):
    """A checkpoint file belongs to another fit, or cannot be read."""


class CpuLevelError(MercerError, ImportError):
    """The environment variable MERCER_CPU names a level that is unknown or cannot run here."""


class InterruptWarning(UserWarning):
    """A fit was ended early and its last complete state was kept."""
