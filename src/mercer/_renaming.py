"""Old public names: where each thing is now, and the warning that says so.

A name that moves, or gets another name, keeps working for one release. Its family looks it up here on first use, so
that it costs nothing until then, and is not in the family's ``__all__`` nor in the reference.
"""

import importlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["OLD_NAMES", "OldName", "forward_old_names", "warn_of_old_argument"]

# The release in which the names below stop working.
_LAST_DAY = "0.3"


class OldName(NamedTuple):
    """Where the object is, and what to write in place of the old name where that is not the object's own address."""

    home: str
    instead: str = ""

    @property
    def replacement(self) -> str:
        return self.instead or self.home


# By family: what its old names stand for now.
OLD_NAMES: dict[str, dict[str, OldName]] = {
    "mercer.decision": {
        # One quantity had two functions: these took the rows of each class, the others take X and y as all else does.
        "mean_direction": OldName(
            "mercer.decision._separation.mean_direction", "mercer.discriminant_analysis.mean_separation(X, y)"
        ),
        "separation_ratio": OldName(
            "mercer.decision._separation.separation_ratio", "mercer.discriminant_analysis.separation_ratio(X, y)"
        ),
    },
    "mercer.ensemble": {"member_correlation": OldName("mercer.metrics.member_correlation")},
    # scikit-learn has covariance.log_likelihood, of a covariance and a precision; it keeps the name.
    "mercer.estimation": {"log_likelihood": OldName("mercer.estimation.data_log_likelihood")},
    "mercer.linear_model": {
        "correlation": OldName("mercer.metrics.correlation"),
        # model_selection.degrees_of_freedom is of any estimator; this one is the closed form of ridge regression.
        "effective_degrees_of_freedom": OldName("mercer.linear_model.ridge_degrees_of_freedom"),
        "empirical_error": OldName("mercer.metrics.empirical_error"),
        "expected_in_sample_error": OldName("mercer.theory.expected_in_sample_error"),
        "expected_out_of_sample_error": OldName("mercer.theory.expected_out_of_sample_error"),
        "population_error": OldName("mercer.metrics.population_error"),
    },
    "mercer.model_selection": {"vc_dimension": OldName("mercer.theory.vc_dimension")},
    "mercer.objectives": {
        "ElasticNet": OldName("mercer.objectives.ElasticNetPenalty"),
        "Perceptron": OldName("mercer.objectives.PerceptronLoss"),
    },
    "mercer.optim": {
        "EarlyStopping": OldName("mercer.optim.NoImprovement"),
        "TimeLimit": OldName("mercer.optim.MaxTime"),
    },
    "mercer.svm": {"margin_bound": OldName("mercer.theory.margin_bound")},
}


def forward_old_names(family: str, stacklevel: int = 2) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a family: it finds an old name's object, with a warning.

    Parameters
    ----------
    family : str
        The module that had the names, such as "mercer.optim".
    stacklevel : int, default=2
        The frame that the warning names: 2 where this is the family's ``__getattr__``, 3 where that calls it.

    Returns
    -------
    callable
        From a name to its object. It raises AttributeError for a name that never was.
    """
    old_names = OLD_NAMES[family]

    def find_old_name(name: str) -> Any:
        if name not in old_names:
            message = f"module {family!r} has no attribute {name!r}."
            raise AttributeError(message)
        old = old_names[name]
        message = f"{family}.{name} will go in mercer {_LAST_DAY}: use {old.replacement}."
        # FutureWarning is shown by default wherever the name is used; a DeprecationWarning only in the main script.
        warnings.warn(message, FutureWarning, stacklevel=stacklevel)
        module, _, attribute = old.home.rpartition(".")
        return getattr(importlib.import_module(module), attribute)

    return find_old_name


def warn_of_old_argument(function: str, name: str, instead: str, *, stacklevel: int = 3) -> None:
    """Warn that an argument of a public function will go; `stacklevel` 3 is the caller of that function."""
    message = f"{function}: the argument {name} will go in mercer {_LAST_DAY}: use {instead}."
    warnings.warn(message, FutureWarning, stacklevel=stacklevel)
