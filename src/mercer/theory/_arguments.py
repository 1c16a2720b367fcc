"""Read the arguments that bounds share: numbers of rows, and probabilities of failure."""

from mercer._base.reading import read_integer
from mercer.errors import DataError


def read_rows(subject: str, n_samples: int) -> int:
    """Check that there is a row, and return the number of rows."""
    return read_integer(subject, "n_samples", n_samples, 1, cure="Give the number of rows.")


def read_failure(subject: str, name: str, value: float) -> float:
    """Check that a probability is neither 0 nor 1, and return it."""
    if not 0 < value < 1:
        raise DataError(
            f"{subject}: {name} must be a number in (0, 1); got {value!r}. It is the probability of failure."
        )
    return value
