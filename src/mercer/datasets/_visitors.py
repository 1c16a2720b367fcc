"""Visitors of a shop: a table without a target, with groups of unequal size and shape and a few odd rows."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence

_NAMES = ("passing by", "regulars", "bargain hunters", "wholesale")
_SHARES = (0.58, 0.25, 0.12, 0.05)
_COLUMNS = ("visits_a_month", "minutes_a_visit", "spent_a_visit", "share_on_offer")
_MEANS = np.array([(1.2, 9.0, 14.0, 0.25), (9.0, 22.0, 35.0, 0.2), (5.0, 38.0, 18.0, 0.75), (3.5, 60.0, 240.0, 0.1)])
_SPREADS = np.array([(0.5, 3.0, 5.0, 0.1), (2.0, 5.0, 8.0, 0.08), (1.2, 6.0, 5.0, 0.07), (0.8, 12.0, 45.0, 0.05)])
_ODD = 0.015


def load_visitors(*, n_samples: int = 800, random_state: Any = 0) -> Bunch:
    """Load a table of visitors of a shop, to find groups in.

    Four groups, of 58, 25, 12 and 5 per cent; 1.5 per cent of the rows belong to none and lie anywhere.

    Parameters
    ----------
    n_samples : int, default=800
        Number of visitors.
    random_state : None, int, RandomState or Generator, default=0
        The seed; the bundled table is that of 0.

    Returns
    -------
    table : Bunch
        ``frame`` (a pandas DataFrame), ``target`` (None), ``groups`` (the true group of each row, ``"odd"`` for those
        that belong to none), ``title``.

    Examples
    --------
    >>> from mercer.datasets import load_visitors
    >>> table = load_visitors()
    >>> table.frame.shape, sorted(set(table.groups.tolist()))
    ((800, 5), ['bargain hunters', 'odd', 'passing by', 'regulars', 'wholesale'])
    """
    import pandas

    random = np.random.default_rng(seed_sequence(random_state))
    group = random.choice(len(_NAMES), n_samples, p=_SHARES)
    values = random.normal(_MEANS[group], _SPREADS[group])
    odd = random.random(n_samples) < _ODD
    # The odd rows are uniform in a box that contains all groups.
    values[odd] = random.uniform((0.0, 0.0, 0.0, 0.0), (25.0, 150.0, 500.0, 1.0), (int(odd.sum()), len(_COLUMNS)))
    values = np.maximum(values, 0.0)
    # Column 3 is a share; the Gaussian can leave its range.
    values[:, 3] = np.minimum(values[:, 3], 1.0)
    frame = pandas.DataFrame(dict(zip(_COLUMNS, np.round(values, 2).T)))
    member = random.random(n_samples) < np.array([0.1, 0.8, 0.6, 0.9])[group]
    frame["card"] = np.where(member, "yes", "no")
    groups = np.where(odd, "odd", np.array(_NAMES)[group])
    return Bunch(frame=frame, target=None, groups=groups, title="visitors of a shop")
