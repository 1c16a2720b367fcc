"""Ten tables on which the quality of boosted trees is compared: real ones that are bundled, and realistic ones.

Text columns come as pandas categories and missing values as NaN, as a user would have them after reading a file. The
generated tables have what real ones have: categories by the hundred, interactions, imbalance, counts, heavy tails,
seasons and values that are missing for a reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Table:
    """Rows to learn from, and how answers are judged.

    Attributes
    ----------
    name, title : str
    task : str
        ``labels`` (log loss), ``numbers`` (root mean squared error) or ``counts`` (mean Poisson deviance).
    make : callable
        ``make(scale) -> (frame, target)``.
    repeats : int
        How often the five folds are drawn; more for small tables.
    """

    name: str
    title: str
    task: str
    make: Callable[[float], tuple[Any, Array]]
    repeats: int = 1


def _size(rows: int, scale: float) -> int:
    return max(150, round(rows * scale))


def _frame(columns: dict[str, Any]) -> Any:
    """A pandas frame whose text columns are categories."""
    import pandas

    frame = pandas.DataFrame(columns)
    text = [name for name in frame.columns if frame[name].dtype.kind in "OUT" or str(frame[name].dtype) == "str"]
    return frame.astype(dict.fromkeys(text, "category"))


def _numbered(X: Array) -> Any:
    return _frame({f"x{column}": X[:, column] for column in range(X.shape[1])})


def _names(word: str, codes: Array) -> Array:
    return np.array([f"{word}{code}" for code in codes.tolist()])


def _logistic(score: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-score))


def _bundled(name: str, task: str) -> Callable[[float], tuple[Any, Array]]:
    def make(scale: float) -> tuple[Any, Array]:
        import sklearn.datasets
        from sklearn.utils import shuffle

        X, y = shuffle(*getattr(sklearn.datasets, name)(return_X_y=True), random_state=0)
        rows = _size(len(y), scale)
        return _numbered(X[:rows]), y[:rows].astype(np.int64 if task == "labels" else np.float64)

    return make


def make_failures(scale: float) -> tuple[Any, Array]:
    """The bundled machines, without their numbers and the column that gives the answer away."""
    from mercer.datasets import load_failures

    bunch = load_failures()
    frame = bunch.frame[: _size(len(bunch.frame), scale)]
    columns = {name: frame[name] for name in frame.columns if name not in ("machine_id", bunch.leak, bunch.target)}
    columns["installed"] = frame["installed"].astype("int64").to_numpy() / 86400.0
    return _frame(columns), (frame[bunch.target] == "yes").to_numpy(dtype=np.int64)


def make_rents(scale: float) -> tuple[Any, Array]:
    """The bundled flats, with their buildings as one more category."""
    from mercer.datasets import load_rents

    bunch = load_rents()
    frame = bunch.frame[: _size(len(bunch.frame), scale)]
    columns = {name: frame[name] for name in frame.columns if name != bunch.target}
    return _frame(columns), frame[bunch.target].to_numpy()


def make_madelon(scale: float) -> tuple[Any, Array]:
    """Clusters on the corners of a cube in five of fifty columns, with flipped labels."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        _size(2000, scale), 50, n_informative=5, n_redundant=10, n_clusters_per_class=8, flip_y=0.03, random_state=1
    )
    return _numbered(X), y


def make_heavy_tails(scale: float) -> tuple[Any, Array]:
    """Friedman's first function with five columns of noise, errors of Student's t, and a twentieth of values lost."""
    random = np.random.default_rng(2)
    X = random.uniform(size=(_size(3000, scale), 10))
    truth = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y = truth + 1.5 * random.standard_t(3, size=len(X))
    X[random.uniform(size=X.shape) < 0.05] = np.nan
    return _numbered(X), y


def make_adverts(scale: float) -> tuple[Any, Array]:
    """Clicks on one advert in twenty: sites and campaigns by the hundred, few rows of most, and hours."""
    random = np.random.default_rng(3)
    n = _size(8000, scale)
    site = random.zipf(1.3, size=4 * n)
    site = site[site <= 600][:n] - 1
    campaign, device = random.integers(60, size=n), random.integers(3, size=n)
    hour, age = random.integers(24, size=n).astype(float), random.gamma(4.0, 9.0, size=n).round()
    price = random.lognormal(size=n)
    liking = random.normal(scale=0.8, size=600)[site] + random.normal(scale=0.6, size=60)[campaign]
    meeting = random.normal(scale=0.7, size=(60, 3))[campaign, device]
    score = liking + meeting + 0.6 * np.cos((hour - 20) * np.pi / 12) - 0.3 * np.log(price) * (device == 0)
    y = (random.uniform(size=n) < _logistic(score - 3.8)).astype(np.int64)
    age[random.uniform(size=n) < np.where(device == 1, 0.4, 0.1)] = np.nan
    columns = {"site": _names("s", site), "campaign": _names("c", campaign), "device": _names("d", device)}
    return _frame(columns | {"hour": hour, "age": age, "price": price}), y


def make_claims(scale: float) -> tuple[Any, Array]:
    """Claims of insured drivers in a year: one in eight, with regions, makes, ages and mileage that interact."""
    random = np.random.default_rng(4)
    n = _size(8000, scale)
    region, make = random.integers(20, size=n), random.integers(35, size=n)
    age, power = random.uniform(18, 85, size=n).round(), random.gamma(9.0, 9.0, size=n).round()
    mileage, bonus = random.lognormal(9.3, 0.6, size=n), random.beta(1.2, 3.0, size=n)
    young = np.maximum(25 - age, 0) / 7
    score = -2.9 + 0.35 * young * (power / 80) + 0.02 * np.maximum(age - 70, 0) + 1.4 * bonus
    score += 0.45 * (np.log(mileage) - 9.3)
    score += random.normal(scale=0.3, size=20)[region] + random.normal(scale=0.25, size=35)[make]
    y = random.poisson(np.exp(score) * random.gamma(2.0, 0.5, size=n)).astype(float)
    mileage[random.uniform(size=n) < 0.15] = np.nan
    columns = {"region": _names("r", region), "make": _names("m", make), "age": age, "power": power}
    return _frame(columns | {"mileage": mileage, "bonus": bonus}), y


def make_demand(scale: float) -> tuple[Any, Array]:
    """Bicycles hired in an hour: two rush hours on working days, a hump at weekends, weather, seasons, growth."""
    random = np.random.default_rng(5)
    n = _size(5000, scale)
    day, hour = random.integers(730, size=n), random.integers(24, size=n)
    season = np.sin(2 * np.pi * (day - 100) / 365)
    warmth = 12 + 10 * season + 4 * np.sin(2 * np.pi * (hour - 9) / 24) + random.normal(scale=3.0, size=n)
    weather = random.choice(["clear", "cloud", "rain", "storm"], p=[0.5, 0.3, 0.17, 0.03], size=n)
    humid = np.clip(55 + 20 * (weather == "rain") + random.normal(scale=12.0, size=n), 10, 100)
    weekend = day % 7 >= 5
    rush = (
        np.exp(-((hour - 8) ** 2) / 3)
        + 1.2 * np.exp(-((hour - 17.5) ** 2) / 5)
        + 0.25 * np.exp(-((hour - 13) ** 2) / 8)
    )
    shape = np.where(weekend, 0.9 * np.exp(-((hour - 14) ** 2) / 18), rush)
    dampened = 1.0 - 0.5 * (weather == "rain") - 0.8 * (weather == "storm")
    mean = (8 + 300 * shape * _logistic((warmth - 8) / 5)) * dampened * (1 + 0.4 * day / 730)
    y = random.negative_binomial(6, 6 / (6 + mean)).astype(float)
    humid[random.uniform(size=n) < 0.1] = np.nan
    names = np.array(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])[day % 7]
    columns = {"day": day.astype(float), "hour": hour.astype(float), "weekday": names, "weather": weather}
    return _frame(columns | {"warmth": warmth, "humid": humid}), y


def make_segments(scale: float) -> tuple[Any, Array]:
    """Five kinds of customers, one of them half of all, by rules that meet; incomes are missing for a reason."""
    random = np.random.default_rng(6)
    n = _size(3000, scale)
    X, income = random.normal(size=(n, 8)), random.lognormal(10.3, 0.5, size=n)
    branch, channel = random.integers(40, size=n), random.integers(4, size=n)
    scores = random.normal(scale=0.7, size=(40, 5))[branch] + random.normal(scale=0.5, size=(4, 5))[channel]
    scores[:, 0] += 1.6 + X[:, 0] * X[:, 1]
    scores[:, 1] += 1.5 * (X[:, 2] > 0.5) * (X[:, 3] < 0.0) + 0.8 * (np.log(income) - 10.3)
    scores[:, 2] += np.abs(X[:, 4]) - 0.5 * X[:, 0]
    scores[:, 3] += X[:, 5] ** 2 * (channel == 1) - 0.5
    scores[:, 4] -= X[:, 3] + 0.5 * (np.log(income) - 10.3)
    y = (scores + random.gumbel(size=scores.shape)).argmax(axis=1)
    income[random.uniform(size=n) < _logistic(X[:, 3] - 0.8)] = np.nan
    columns = {f"x{column}": X[:, column] for column in range(8)}
    return _frame(columns | {"income": income, "branch": _names("b", branch), "channel": _names("c", channel)}), y


TABLES = {
    table.name: table
    for table in (
        Table("breast_cancer", "tumours, two classes, 569 x 30", "labels", _bundled("load_breast_cancer", "labels"), 2),
        Table("failures", "machines, two classes, 1 200 x 7, categories, missing values", "labels", make_failures, 2),
        Table("madelon", "corners of a cube among noise, two classes, 2 000 x 50", "labels", make_madelon),
        Table("adverts", "clicks, one in twenty, 8 000 x 6, up to 600 categories", "labels", make_adverts),
        Table("segments", "customers, five classes, 3 000 x 11, categories, missing values", "labels", make_segments),
        Table("diabetes", "disease after a year, 442 x 10", "numbers", _bundled("load_diabetes", "numbers"), 2),
        Table("rents", "flats, 900 x 7, 150 buildings as categories", "numbers", make_rents, 2),
        Table("heavy_tails", "Friedman's function, errors of Student's t, 3 000 x 10", "numbers", make_heavy_tails),
        Table("demand", "bicycles by the hour, 5 000 x 6, categories, missing values", "counts", make_demand),
        Table("claims", "claims in a year, 8 000 x 6, categories, missing values", "counts", make_claims),
    )
}  # fmt: skip
