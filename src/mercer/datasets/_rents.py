"""Flats and their rents: a table to predict a number from, where straight lines do not suffice.

The price of area bends, storeys are worth something only with a lift, and flats of one building share what no column
says, so that they must not be torn apart when a model is judged.
"""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence

_DISTRICTS = ("centre", "harbour", "hill", "meadow")
_DISTRICT_EFFECTS = np.array([190.0, 60.0, 110.0, 0.0])


def load_rents(*, n_samples: int = 900, random_state: Any = 0) -> Bunch:
    """Load a table of flats, to predict the rent.

    The rent is ``160 sqrt(area) - 55 distance + 30 storey`` with a lift and ``- 25 storey`` without one, plus an
    effect of the district, one of the building with a spread of 60, and noise with a spread of 70.

    Parameters
    ----------
    n_samples : int, default=900
        Number of flats, about six in a building.
    random_state : None, int, RandomState or Generator, default=0
        The seed; the bundled table is that of 0.

    Returns
    -------
    table : Bunch
        ``frame`` (a pandas DataFrame), ``target`` (``"rent"``), ``group`` (``"building"``), ``expected`` (the rent
        without noise), ``title``.

    Examples
    --------
    >>> from mercer.datasets import load_rents
    >>> table = load_rents()
    >>> table.frame.shape, round(float((table.frame["rent"] - table.expected).std()))
    ((900, 8), 69)
    """
    import pandas

    random = np.random.default_rng(seed_sequence(random_state))
    # About six flats share a building, so that groups matter when rows are split for validation.
    n_buildings = max(2, n_samples // 6)
    building = random.integers(0, n_buildings, n_samples)
    # What belongs to a building is drawn once for each, and indexed by the building of a flat.
    district = random.integers(0, len(_DISTRICTS), n_buildings)[building]
    distance = np.round(random.gamma(2.5, 1.4, n_buildings)[building] + 0.2, 1)
    lift = (random.random(n_buildings) < 0.5)[building]
    shared = random.normal(0, 60, n_buildings)[building]
    area = np.round(random.gamma(9, 7.5, n_samples) + 15, 1)
    storey = random.integers(0, 9, n_samples)
    year = np.round(random.normal(1975, 25, n_buildings))[building].astype(int)
    storeys = np.where(lift, 30.0, -25.0) * storey
    expected = 160 * np.sqrt(area) - 55 * distance + storeys + _DISTRICT_EFFECTS[district] + shared
    frame = pandas.DataFrame(
        {
            "building": np.char.add("B", building.astype(str)),
            "district": np.array(_DISTRICTS)[district],
            "area_m2": area,
            "storey": storey,
            "lift": lift,
            "distance_km": distance,
            # The year is missing for 5 per cent of the flats.
            "built": np.where(random.random(n_samples) < 0.05, np.nan, year),
            "rent": np.round(expected + random.normal(0, 70, n_samples), 2),
        }
    )
    return Bunch(frame=frame, target="rent", group="building", expected=expected, title="flats and their rents")
