"""The worked examples of the textbooks: burglary, dentist, meningitis and sprinkler."""

import numpy as np

from mercer.bayesnet._network.network import BayesianNetwork
from mercer.bayesnet._tables.table import ProbabilityTable

_YES_NO = ("yes", "no")


def load_burglary() -> BayesianNetwork:
    """Return the burglary network: an alarm that a burglary or an earthquake sets off, and two neighbours who call.

    References
    ----------
    Pearl, J. (1988). Probabilistic Reasoning in Intelligent Systems; with the tables of Russell, S. and Norvig, P.,
    Artificial Intelligence: A Modern Approach, chapter on probabilistic reasoning.

    Examples
    --------
    >>> from mercer.bayesnet import load_burglary
    >>> network = load_burglary()
    >>> network
    BayesianNetwork(5 variables, 4 edges, 10 parameters)
    >>> network.query("alarm").values[0].round(9).item()
    0.002516442
    """
    names = ("burglary", "earthquake", "alarm", "john", "mary")
    return BayesianNetwork(
        dict.fromkeys(names, _YES_NO),
        {"alarm": ("burglary", "earthquake"), "john": ("alarm",), "mary": ("alarm",)},
        {
            "burglary": [0.001, 0.999],
            "earthquake": [0.002, 0.998],
            "alarm": [[[0.95, 0.05], [0.94, 0.06]], [[0.29, 0.71], [0.001, 0.999]]],
            "john": [[0.9, 0.1], [0.05, 0.95]],
            "mary": [[0.7, 0.3], [0.01, 0.99]],
        },
    )


def load_dentist() -> ProbabilityTable:
    """Return the dentist's joint table: cavity, toothache and weather.

    P(cavity) = 0.01 and P(sunny) = 0.3. A cavity aches with probability 0.6, a healthy tooth with 0.05, and teeth know
    nothing of the weather.

    Examples
    --------
    >>> from mercer.bayesnet import Event, load_dentist
    >>> table = load_dentist()
    >>> round(table.probability(Event("cavity", "yes")), 4)
    0.01
    >>> table.condition({"toothache": "yes"}).marginal("cavity").values[0].round(4).item()
    0.1081
    """
    cavity, aches = np.array([0.01, 0.99]), np.array([[0.6, 0.4], [0.05, 0.95]])
    weather = np.array([0.3, 0.4, 0.2, 0.1])
    joint = (cavity[:, None] * aches)[:, :, None] * weather
    states = {"cavity": _YES_NO, "toothache": _YES_NO, "weather": ("sunny", "cloudy", "rain", "snow")}
    return ProbabilityTable(states, joint)


def load_meningitis(prior: float = 1 / 50_000, stiff_neck: float = 0.7, overall: float = 0.01) -> BayesianNetwork:
    """Return the network of meningitis and its symptom, a stiff neck.

    The causal rule P(stiff neck | meningitis) stays when the disease becomes more frequent; the diagnostic rule
    P(meningitis | stiff neck) does not, and P(stiff neck) changes with the prior too. How often a neck is stiff without
    the disease is found from `overall` at the prior of 1 in 50 000.

    Parameters
    ----------
    prior : float
        P(meningitis).
    stiff_neck : float
        P(stiff neck | meningitis).
    overall : float
        P(stiff neck) at the usual prior.

    Examples
    --------
    >>> from mercer.bayesnet import load_meningitis
    >>> load_meningitis().query("meningitis", {"stiff_neck": "yes"}).values[0].round(6).item()
    0.0014
    >>> load_meningitis(prior=2 / 50_000).query("meningitis", {"stiff_neck": "yes"}).values[0].round(6).item()
    0.002796
    """
    usual = 1 / 50_000
    otherwise = (overall - usual * stiff_neck) / (1 - usual)
    return BayesianNetwork(
        {"meningitis": _YES_NO, "stiff_neck": _YES_NO},
        {"stiff_neck": ("meningitis",)},
        {
            "meningitis": [prior, 1 - prior],
            "stiff_neck": [[stiff_neck, 1 - stiff_neck], [otherwise, 1 - otherwise]],
        },
    )


def load_sprinkler() -> BayesianNetwork:
    """Return the network of clouds, a sprinkler, rain and wet grass, which has a loop.

    References
    ----------
    Murphy, K. (2001). An introduction to graphical models.

    Examples
    --------
    >>> from mercer.bayesnet import load_sprinkler
    >>> network = load_sprinkler()
    >>> network.query("sprinkler", {"wet_grass": "yes"}).values[0].round(4).item()
    0.4298
    >>> network.query("sprinkler", {"wet_grass": "yes", "rain": "yes"}).values[0].round(4).item()
    0.1945
    """
    names = ("cloudy", "sprinkler", "rain", "wet_grass")
    return BayesianNetwork(
        dict.fromkeys(names, _YES_NO),
        {"sprinkler": ("cloudy",), "rain": ("cloudy",), "wet_grass": ("sprinkler", "rain")},
        {
            "cloudy": [0.5, 0.5],
            "sprinkler": [[0.1, 0.9], [0.5, 0.5]],
            "rain": [[0.8, 0.2], [0.2, 0.8]],
            "wet_grass": [[[0.99, 0.01], [0.9, 0.1]], [[0.9, 0.1], [0.0, 1.0]]],
        },
    )
