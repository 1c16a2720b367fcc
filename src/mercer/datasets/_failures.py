"""Machines of a factory and whether they fail: a table for classification with the difficulties of real tables.

Failures are rare. One column is recorded after the outcome, two have missing values, one is an id, one is a date, and
one maker is very rare. The truth is known: the probability of each failure.
"""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence

_MAKERS = ("Arden", "Borg", "Castor", "Dufour", "Elm")
_MAKER_SHARES = (0.38, 0.31, 0.2, 0.1, 0.01)
_MAKER_EFFECTS = np.array([0.0, -0.4, 0.5, 1.0, 0.0])
_SITES = ("Leeds", "Lyon", "Ulm")
_FIRST_DAY = np.datetime64("2016-01-01")


def load_failures(*, n_samples: int = 1200, random_state: Any = 0) -> Bunch:
    """Load a table of machines, to predict which will fail within a month.

    The log-odds of a failure are ``-5.2 + 2.4 (vibration > 5) + 0.03 load (temperature > 75) + 0.02 days``, the days
    since the last service up to 120, plus an effect of the maker.

    Parameters
    ----------
    n_samples : int, default=1200
        Number of machines.
    random_state : None, int, RandomState or Generator, default=0
        The seed; the bundled table is that of 0.

    Returns
    -------
    table : Bunch
        ``frame`` (a pandas DataFrame), ``target`` (the name of its target, ``"failure"``), ``probability`` (the true
        probability of each failure), ``leak`` (the name of the column that is known only afterwards), ``title``.

    Examples
    --------
    >>> from mercer.datasets import load_failures
    >>> table = load_failures()
    >>> table.frame.shape, table.frame["failure"].value_counts().to_dict()
    ((1200, 10), {'no': 1101, 'yes': 99})
    """
    import pandas

    random = np.random.default_rng(seed_sequence(random_state))
    maker = random.choice(len(_MAKERS), n_samples, p=_MAKER_SHARES)
    installed = _FIRST_DAY + random.integers(0, 2900, n_samples)
    load = np.round(random.beta(3, 2, n_samples) * 100, 1)
    temperature = np.round(random.normal(48 + 0.3 * load, 8), 1)
    vibration = np.round(random.lognormal(1.1, 0.45, n_samples), 2)
    service = np.minimum(random.gamma(2.0, 30.0, n_samples).astype(int), 400)
    score = -5.2 + 2.4 * (vibration > 5) + 0.03 * load * (temperature > 75) + 0.02 * np.minimum(service, 120)
    probability = 1 / (1 + np.exp(-(score + _MAKER_EFFECTS[maker])))
    failure = random.random(n_samples) < probability
    # Known only after the outcome: the column that leaks the target.
    repair = np.where(failure, np.round(random.lognormal(7, 0.5, n_samples), 2), 0.0)
    # Missing at random, whatever the other columns are.
    temperature[random.random(n_samples) < 0.07] = np.nan
    days = service.astype(float)
    # Service records of old machines get lost, so that a missing value is informative.
    days[random.random(n_samples) < np.where(installed < np.datetime64("2019-01-01"), 0.15, 0.02)] = np.nan
    frame = pandas.DataFrame(
        {
            "machine_id": [f"M{number:05d}" for number in random.permutation(n_samples)],
            "maker": np.array(_MAKERS)[maker],
            "site": random.choice(_SITES, n_samples),
            "installed": installed.astype("datetime64[s]"),
            "load_percent": load,
            "temperature_c": temperature,
            "vibration_mm_s": vibration,
            "days_since_service": days,
            "repair_cost": repair,
            "failure": np.where(failure, "yes", "no"),
        }
    )
    return Bunch(
        frame=frame, target="failure", probability=probability, leak="repair_cost", title="machines of a factory"
    )
