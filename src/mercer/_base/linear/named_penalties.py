"""Penalties by their names."""

from typing import Any

from mercer._objective import L1, L2, Box, ElasticNetPenalty, NonNegative, Penalty, Smoothness
from mercer.errors import ParameterError

PENALTIES: dict[str, Penalty] = {
    "l2": L2(),
    "l1": L1(),
    "elasticnet": ElasticNetPenalty(0.5, 0.5),
    "nonnegative": NonNegative(),
    "smoothness": Smoothness(),
}


def find_named_penalty(estimator: Any, n_features: int) -> Penalty | None:
    """Return the penalty of an estimator times its ``alpha``; None if nothing is penalised."""
    wish = estimator.penalty
    penalty = PENALTIES[wish] if isinstance(wish, str) else wish
    if penalty is None:
        return None
    try:
        penalty.check(n_features)
    except ValueError as error:
        raise ParameterError(f"{type(estimator).__name__}: {error}") from error
    # A box constrains at any strength; all other penalties vanish at zero.
    if estimator.alpha == 0 and not isinstance(penalty, Box):
        return None
    return penalty.scaled(float(estimator.alpha))
