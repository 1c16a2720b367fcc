"""The libraries whose boosted trees are compared: their defaults, and one space of settings in each one's words.

Every library is told what is a category in its own way, uses one thread, and minimises the loss that the table is
judged by. Two limits are ours: CatBoost's rounds, which at its own thousand would take most of the time of the
comparison, and scikit-learn's categories, of which it takes 255 at most; a column with more is a number to it. One
help is ours too: CatBoost is given counts in units of their mean, without which its first steps overshoot.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
CATBOOST_ROUNDS = 200
# The rounds of a tuned fit, and how many without a gain on the held-out rows end them.
MOST_ROUNDS, PATIENCE = 200, 10
MOST_CATEGORIES = 255


@dataclass(frozen=True)
class Setting:
    """What is tuned: the same numbers for every library."""

    rate: float = 0.1
    leaves: int = 31
    rows: int = 20
    ridge: float = 1.0
    columns: float = 1.0


def draw_settings(count: int, seed: int = 0) -> list[Setting]:
    """The usual setting, and others drawn evenly on log scales."""
    random = np.random.default_rng(seed)

    def log_uniform(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    drawn = [
        Setting(
            round(log_uniform(0.02, 0.3), 4),
            round(log_uniform(4, 64)),
            round(log_uniform(2, 60)),
            round(log_uniform(0.01, 30.0), 3),
            round(random.uniform(0.4, 1.0), 2),
        )
        for _ in range(count - 1)
    ]
    return [Setting(), *drawn]


@dataclass(frozen=True)
class Tool:
    """One contestant.

    Attributes
    ----------
    name, needs : str
        What it is called, and the package it needs.
    build : callable
        ``build(task, n_classes, setting, rounds)``; at the library's defaults where the setting is None.
    fit : callable
        ``fit(model, X, y, held_out) -> rounds``, with early stopping on the held-out rows where there are any.
    table : callable
        The frame as the library wants it.
    tuned : bool
        Whether it takes part in the comparison of tuned models.
    """

    name: str
    needs: str
    build: Callable[..., Any]
    fit: Callable[..., int | None]
    table: Callable[[Any], Any] = lambda frame: frame
    tuned: bool = False


def _plain_fit(model: Any, X: Any, y: Array, held_out: Any = None) -> None:
    model.fit(X, y)


def _mercer(task: str, n_classes: int, setting: Setting | None = None, rounds: int | None = None, **more: Any) -> Any:
    from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if setting is not None:
        more |= {
            "learning_rate": setting.rate,
            "max_leaf_nodes": setting.leaves,
            "min_samples_leaf": setting.rows,
            "l2_regularization": setting.ridge,
            "max_features": setting.columns,
            "max_iter": rounds or MOST_ROUNDS,
            "early_stopping": rounds is None,
            "n_iter_no_change": PATIENCE,
        }
    if task == "labels":
        return HistGradientBoostingClassifier(random_state=0, n_jobs=1, **more)
    loss = "poisson" if task == "counts" else "squared_error"
    return HistGradientBoostingRegressor(loss, random_state=0, n_jobs=1, **more)


def _mercer_budget(task: str, n_classes: int, *_: Any) -> Any:
    return _mercer(task, n_classes, budget=1.0)


def _mercer_fit(model: Any, X: Any, y: Array, held_out: Any = None) -> int | None:
    if held_out is None:
        return _plain_fit(model, X, y)
    model.fit(X, y, X_val=held_out[0], y_val=held_out[1])
    return max(1, int(np.argmax(model.validation_score_)))


def _mercer_forest(task: str, n_classes: int, *_: Any) -> Any:
    from mercer.ensemble import RandomForestClassifier, RandomForestRegressor

    common = {"categorical_features": "from_dtype", "random_state": 0, "n_jobs": 1}
    if task == "labels":
        return RandomForestClassifier(**common)
    return RandomForestRegressor(criterion="poisson" if task == "counts" else "squared_error", **common)


def _sklearn(task: str, n_classes: int, *_: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if task == "labels":
        return HistGradientBoostingClassifier(random_state=0)
    return HistGradientBoostingRegressor(loss="poisson" if task == "counts" else "squared_error", random_state=0)


def _few_categories(frame: Any) -> Any:
    """Numbers for the columns with more categories than scikit-learn takes."""
    kinds = frame.dtypes.items()
    many = [name for name, kind in kinds if str(kind) == "category" and len(kind.categories) > MOST_CATEGORIES]
    return frame.assign(**{name: frame[name].cat.codes.astype(float) for name in many})


def _lightgbm(task: str, n_classes: int, setting: Setting | None = None, rounds: int | None = None) -> Any:
    import lightgbm

    options: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "random_state": 0, "deterministic": True}
    if setting is not None:
        options |= {
            "learning_rate": setting.rate,
            "num_leaves": setting.leaves,
            "min_child_samples": setting.rows,
            "reg_lambda": setting.ridge,
            "feature_fraction_bynode": setting.columns,
            "n_estimators": rounds or MOST_ROUNDS,
        }
    if task == "labels":
        return lightgbm.LGBMClassifier(**options)
    return lightgbm.LGBMRegressor(objective="poisson" if task == "counts" else "regression", **options)


def _lightgbm_fit(model: Any, X: Any, y: Array, held_out: Any = None) -> int | None:
    if held_out is None:
        return _plain_fit(model, X, y)
    import lightgbm

    model.fit(X, y, eval_set=[held_out], callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)])
    return max(1, model.best_iteration_)


def _xgboost(task: str, n_classes: int, setting: Setting | None = None, rounds: int | None = None) -> Any:
    import xgboost

    options: dict[str, Any] = {"n_jobs": 1, "verbosity": 0, "random_state": 0, "enable_categorical": True}
    if setting is not None:
        # Its least leaf is a sum of curvatures, at most a quarter for each row with labels, about one with numbers.
        curvature = 0.25 if task == "labels" else 1.0
        options |= {
            "learning_rate": setting.rate,
            "max_leaves": setting.leaves,
            "min_child_weight": curvature * setting.rows,
            "reg_lambda": setting.ridge,
            "colsample_bynode": setting.columns,
            "max_depth": 0,
            "grow_policy": "lossguide",
            "n_estimators": rounds or MOST_ROUNDS,
            "early_stopping_rounds": PATIENCE if rounds is None else None,
        }
    if task == "labels":
        return xgboost.XGBClassifier(**options)
    return xgboost.XGBRegressor(objective="count:poisson" if task == "counts" else "reg:squarederror", **options)


def _xgboost_fit(model: Any, X: Any, y: Array, held_out: Any = None) -> int | None:
    if held_out is None:
        return _plain_fit(model, X, y)
    model.fit(X, y, eval_set=[held_out], verbose=False)
    return int(model.best_iteration) + 1


def _catboost(task: str, n_classes: int, setting: Setting | None = None, rounds: int | None = None) -> Any:
    import catboost

    options: dict[str, Any] = {"thread_count": 1, "verbose": False, "random_seed": 0, "allow_writing_files": False}
    options["iterations"] = rounds or CATBOOST_ROUNDS
    if setting is not None:
        # Its trees ask one question in a whole level, so that they have a depth in place of leaves.
        depth = max(2, round(np.log2(setting.leaves)))
        options |= {"learning_rate": setting.rate, "depth": depth, "l2_leaf_reg": setting.ridge}
        options |= {"rsm": setting.columns, "od_type": "Iter", "od_wait": PATIENCE}
    if task == "labels":
        return catboost.CatBoostClassifier(loss_function="Logloss" if n_classes == 2 else "MultiClass", **options)
    if task == "counts":
        return CountsFromMean(catboost.CatBoostRegressor(loss_function="Poisson", **options))
    return catboost.CatBoostRegressor(loss_function="RMSE", **options)


class CountsFromMean:
    """CatBoost for counts, in units of their mean, and back.

    It starts at a mean of one whatever the counts are, and from there the first steps on large counts overshoot. The
    Poisson deviance of counts in other units is the same up to a factor, so nothing else changes.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Array, eval_set: Any = None, **options: Any) -> None:
        self.mean = float(y.mean())
        if eval_set is not None:
            options["eval_set"] = eval_set[0], eval_set[1] / self.mean
        self.model.fit(X, y / self.mean, **options)

    def predict(self, X: Any) -> Array:
        return self.mean * self.model.predict(X, prediction_type="Exponent")

    def get_best_iteration(self) -> int:
        return self.model.get_best_iteration()


def _catboost_fit(model: Any, X: Any, y: Array, held_out: Any = None) -> int | None:
    names = [name for name, kind in X.dtypes.items() if str(kind) not in ("float64", "int64", "bool")]
    if held_out is None:
        model.fit(X, y, cat_features=names)
        return None
    model.fit(X, y, cat_features=names, eval_set=held_out)
    return int(model.get_best_iteration()) + 1


def _texts(frame: Any) -> Any:
    """Text for categories, with a word where one is missing: CatBoost takes no NaN there."""
    names = [name for name, kind in frame.dtypes.items() if str(kind) == "category"]
    return frame.assign(**{name: frame[name].astype(object).fillna("missing").astype(str) for name in names})


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("mercer", "mercer", _mercer, _mercer_fit, tuned=True),
        Tool("mercer_budget", "mercer", _mercer_budget, _plain_fit),
        Tool("mercer_forest", "mercer", _mercer_forest, _plain_fit),
        Tool("lightgbm", "lightgbm", _lightgbm, _lightgbm_fit, tuned=True),
        Tool("xgboost", "xgboost", _xgboost, _xgboost_fit, tuned=True),
        Tool("catboost", "catboost", _catboost, _catboost_fit, _texts, tuned=True),
        Tool("sklearn", "sklearn", _sklearn, _plain_fit, _few_categories),
    )
}
