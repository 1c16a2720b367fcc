"""The fish on the conveyor: the sorting example with which pattern classification is taught, as a table.

A packing plant weighs and photographs each fish. Salmon come in two sizes, since some return after one winter at sea
and some after several, so their class density has two modes and no single Gaussian describes it.
"""

import csv
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence

FEATURES = ("length_cm", "height_cm", "width_cm", "lightness")
_KINDS = ("salmon", "salmon", "sea bass", "trout")
# Per kind: share, mean length, spread of length, height and width per length, lightness, grams per cm^3.
_GROUPS = np.array(
    [
        (0.22, 56.0, 3.5, 0.195, 0.105, 3.4, 0.52),
        (0.18, 78.0, 4.5, 0.215, 0.115, 3.9, 0.54),
        (0.33, 62.0, 6.0, 0.245, 0.125, 6.1, 0.56),
        (0.27, 47.0, 5.0, 0.235, 0.120, 4.9, 0.55),
    ]
)


def make_fish(n_samples: int = 420, *, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw fish from the known truth.

    Parameters
    ----------
    n_samples : int, default=420
        Number of fish.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 4)
        Length, height and width in centimetres, and lightness of the skin from 0 to 10.
    weight : ndarray of shape (n_samples,)
        Weight in grams: proportional to length x height x width, with 6 % of spread.
    species : ndarray of shape (n_samples,)
        ``"salmon"``, ``"sea bass"`` or ``"trout"``.

    Examples
    --------
    >>> from mercer.datasets import make_fish
    >>> X, weight, species = make_fish(1000)
    >>> X.shape, sorted(set(species.tolist()))
    ((1000, 4), ['salmon', 'sea bass', 'trout'])
    """
    random = np.random.default_rng(seed_sequence(random_state))
    group = random.choice(len(_KINDS), size=n_samples, p=_GROUPS[:, 0])
    _, length, spread, tall, wide, light, density = _GROUPS[group].T
    size = random.normal(length, spread)
    # The lognormal factors vary body proportions by about 5 per cent, and keep them positive.
    height = size * tall * random.lognormal(0, 0.05, n_samples)
    width = size * wide * random.lognormal(0, 0.05, n_samples)
    lightness = np.clip(random.normal(light, 0.8), 0, 10)
    # Weight is in proportion to the volume of a box around the fish, with a density for each group.
    weight = size * height * width * density * random.lognormal(0, 0.06, n_samples)
    species = np.array(_KINDS)[group]
    return np.column_stack([size, height, width, lightness]), weight, species


def load_fish(*, as_frame: bool = False) -> Bunch:
    """Load the bundled table of 420 fish.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether ``data`` is a pandas DataFrame and ``weight`` and ``species`` are Series.

    Returns
    -------
    table : Bunch
        ``data`` (420 x 4), ``weight`` in grams (a regression target), ``species`` (a classification target),
        ``feature_names``.

    Examples
    --------
    >>> from mercer.datasets import load_fish
    >>> fish = load_fish()
    >>> fish.data.shape, fish.feature_names[0]
    ((420, 4), 'length_cm')
    """
    text = (files("mercer.datasets") / "data" / "fish.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    data = np.array([[float(row[name]) for name in FEATURES] for row in rows])
    weight = np.array([float(row["weight_g"]) for row in rows])
    species = np.array([row["species"] for row in rows])
    if as_frame:
        import pandas

        data = pandas.DataFrame(data, columns=list(FEATURES))
        weight, species = (pandas.Series(weight, name="weight_g"), pandas.Series(species, name="species"))
    return Bunch(data=data, weight=weight, species=species, feature_names=list(FEATURES))
