"""Interventions: a network in which some variables are set from outside, and the effect that this has.

Setting X to x removes the arrows into X and leaves every other table as it is (the truncated factorisation),

    P(v | do(X = x)) = prod over i with V_i not in X of P(v_i | parents of v_i)   where v agrees with x, else 0.

Seeing X = x is something else: it also tells about the causes of X.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.bayesnet._causal.adjustment import fails_back_door
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.bayesnet._tables.variables import find_state, require_variables
from mercer.errors import DataError


def intervene(network: BayesianNetwork, settings: Mapping[Any, Any]) -> BayesianNetwork:
    """Return the network in which some variables are set from outside.

    Parameters
    ----------
    network : BayesianNetwork
        Its edges must point from causes to effects.
    settings : mapping from names to states, or to probabilities
        A state sets the variable to it. A mapping from states to probabilities, or an array of them, draws the variable
        at random, whatever its causes are.

    Returns
    -------
    BayesianNetwork
        The variables that are set have no parents any more; all other tables are unchanged.

    Examples
    --------
    >>> from mercer.bayesnet import BayesianNetwork, intervene
    >>> network = BayesianNetwork(
    ...     {"rain": ["yes", "no"], "wet": ["yes", "no"]},
    ...     {"wet": ["rain"]},
    ...     {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.1, 0.9]]},
    ... )
    >>> float(network.query("rain", {"wet": "yes"}).array[0].round(3))  # a wet lawn tells of rain
    0.692
    >>> float(intervene(network, {"wet": "yes"}).query("rain").array[0].round(3))  # watering it does not make rain
    0.2
    """
    require_variables("intervene", network.variables, list(settings))
    parents, tables = dict(network.parents), dict(network.tables)
    for name, value in settings.items():
        parents[name] = ()
        tables[name] = _read_setting(network, name, value)
    return BayesianNetwork(network.variables, parents, tables)


def _read_setting(network: BayesianNetwork, name: Any, value: Any) -> Array:
    """Return the table of a variable that is set."""
    states = network.variables[name]
    if isinstance(value, Mapping):
        table = np.zeros(len(states))
        for state, probability in value.items():
            table[find_state("intervene", network.variables, name, state)] = probability
    elif isinstance(value, np.ndarray | list):
        table = np.asarray(value, dtype=np.float64)
    else:
        table = np.zeros(len(states))
        table[find_state("intervene", network.variables, name, value)] = 1.0
    if table.shape != (len(states),) or not (table >= 0).all() or not np.isclose(table.sum(), 1.0):
        raise DataError(
            f"intervene: the setting of {name!r} must be a state or {len(states)} probabilities that sum to 1; got "
            f"{value!r}."
        )
    return table


def causal_effect(network: BayesianNetwork, cause: Any, effect: Any, *, adjust: Sequence[Any] | None = None) -> Array:
    """Return the distribution of the effect when the cause is set to each of its states.

    Parameters
    ----------
    network : BayesianNetwork
        Its edges must point from causes to effects.
    cause, effect : names
        Two variables.
    adjust : sequence of names or None, default=None
        None computes P(effect | do(cause)) by the truncated factorisation. Names compute the back-door sum

            sum over z of P(effect | cause, z) P(z)

        from probabilities that can be observed; they must keep the back-door criterion, see
        :func:`adjustment_sets`.

    Returns
    -------
    ndarray of shape (n_states of the cause, n_states of the effect)
        Each row sums to one.

    Examples
    --------
    >>> from mercer.bayesnet import BayesianNetwork, causal_effect
    >>> network = BayesianNetwork(  # the mild cases get the treatment
    ...     {"mild": ["yes", "no"], "treated": ["yes", "no"], "cured": ["yes", "no"]},
    ...     {"treated": ["mild"], "cured": ["mild", "treated"]},
    ...     {
    ...         "mild": [0.5, 0.5],
    ...         "treated": [[0.9, 0.1], [0.1, 0.9]],
    ...         "cured": [[[0.9, 0.1], [0.9, 0.1]], [[0.3, 0.7], [0.3, 0.7]]],
    ...     },
    ... )
    >>> [float(network.query("cured", {"treated": state}).array[0].round(2)) for state in ("yes", "no")]
    [0.84, 0.36]
    >>> causal_effect(network, "treated", "cured", adjust=["mild"])[:, 0].round(2).tolist()  # no effect
    [0.6, 0.6]
    """
    require_variables("causal_effect", network.variables, [cause, effect, *(adjust or ())])
    if cause == effect:
        raise DataError(f"causal_effect: cause and effect must be two variables; got {cause!r} twice.")
    states = network.variables[cause]
    if adjust is None:
        return np.array([intervene(network, {cause: state}).query(effect).array for state in states])
    names = list(adjust)
    if fails_back_door(network.parents, cause, effect, names):
        raise DataError(
            f"causal_effect: adjust must keep the back-door criterion for {cause!r} and {effect!r}; {names} "
            f"does not. adjustment_sets lists sets that do."
        )
    if not names:
        return np.array([_condition(network, effect, {cause: state}) for state in states])
    # P(z) of all combinations of the adjustment set.
    weights = network.query(tuple(names)).array
    rows = np.zeros((len(states), len(network.variables[effect])))
    for place in np.argwhere(weights > 0):
        stratum = {name: network.variables[name][code] for name, code in zip(names, place, strict=True)}
        for number, state in enumerate(states):
            # sum over z of P(effect | cause, z) P(z).
            rows[number] += weights[tuple(place)] * _condition(network, effect, {cause: state, **stratum})
    return rows


def _condition(network: BayesianNetwork, effect: Any, evidence: dict[Any, Any]) -> Array:
    """Return P(effect | evidence); raise if the evidence has probability zero."""
    try:
        return network.query(effect, evidence).array
    except DataError as error:
        raise DataError(
            f"causal_effect: every state of the cause must be possible in every stratum; {evidence} has "
            f"probability 0, so no data tell its effect. Use adjust=None, which sets the cause in the model."
        ) from error
