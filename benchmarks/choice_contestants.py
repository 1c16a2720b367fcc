"""The contestants of the comparison of whole studies: each learns a frame and answers another one.

Every function imports its own package, so that the other packages need not be installed where it runs.
"""

import tempfile
from typing import Any

import numpy as np

from benchmarks.choice_tables import ChoiceTable

CONTESTANTS = ("mercer", "flaml", "autogluon", "lightgbm", "sklearn")
# Probabilities below this count as this, for everyone: one false certainty costs 13.8 and no more.
LEAST_PROBABILITY = 1e-6
# Cores of each process.
CORES = 2


def answer(
    contestant: str, table: ChoiceTable, train: Any, test: Any, seconds: float
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the answers of a contestant to the rows of `test`, the classes in their order, and the chosen model."""
    searches = {"mercer": _answer_mercer, "flaml": _answer_flaml, "autogluon": _answer_autogluon}
    if contestant in searches:
        return searches[contestant](table, train, test, seconds)
    if contestant == "lightgbm_stopped":
        return _answer_stopped(table, train, test)
    return _answer_default(table, train, test, contestant)


def measure_losses(task: str, y: np.ndarray, answers: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the loss of each row: the log loss of its class, or its squared error."""
    if task == "regression":
        return (np.asarray(answers, dtype=float) - y) ** 2
    place = np.searchsorted(classes, y).clip(0, len(classes) - 1)
    chance = np.where(classes[place] == y, answers[np.arange(len(y)), place], 0.0)
    return -np.log(np.clip(chance, LEAST_PROBABILITY, 1.0))


def _answer_mercer(table: ChoiceTable, train: Any, test: Any, seconds: float) -> tuple[np.ndarray, np.ndarray, str]:
    import mercer

    metric = "log_loss" if table.task == "classification" else "r2"
    study = mercer.run(
        train,
        table.target,
        task=table.task,
        metric=metric,
        budget=seconds,
        quick=True,
        keep_leaks=True,
        splits="random",
        n_jobs=CORES,
    )
    chosen = next(candidate.name for candidate in study.record.candidates if candidate.status == "chosen")
    if table.task == "regression":
        return np.asarray(study.model.predict(test)), np.array([]), chosen
    return study.model.predict_proba(test), np.asarray(study.model.classes_), chosen


def _code_texts(train: Any, test: Any, target: str) -> tuple[Any, Any]:
    """Return the columns without the target, texts as categories of the training rows."""
    import pandas

    X, new = train.drop(columns=target), test.drop(columns=target)
    for name in X.columns:
        if X[name].dtype.kind not in "ifb":
            kind = pandas.CategoricalDtype(sorted(X[name].dropna().astype(str).unique()))
            X[name], new[name] = X[name].astype(kind), new[name].astype(kind)
    return X, new


def _answer_flaml(table: ChoiceTable, train: Any, test: Any, seconds: float) -> tuple[np.ndarray, np.ndarray, str]:
    from flaml import AutoML

    X, new = _code_texts(train, test, table.target)
    metric = "log_loss" if table.task == "classification" else "r2"
    search = AutoML()
    search.fit(
        X, train[table.target], task=table.task, metric=metric, time_budget=seconds, n_jobs=CORES, seed=0, verbose=0
    )
    if table.task == "regression":
        return search.predict(new), np.array([]), str(search.best_estimator)
    return search.predict_proba(new), np.asarray(search.classes_), str(search.best_estimator)


def _answer_autogluon(table: ChoiceTable, train: Any, test: Any, seconds: float) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the answers of AutoGluon with its default presets, without neural networks, which need torch."""
    from autogluon.tabular import TabularPredictor

    # Its folder holds every model; it is not needed after the answers.
    with tempfile.TemporaryDirectory() as folder:
        metric = "log_loss" if table.task == "classification" else "r2"
        search = TabularPredictor(table.target, eval_metric=metric, path=folder, verbosity=0)
        search.fit(train, time_limit=seconds, num_cpus=CORES)
        chosen = str(search.model_best)
        if table.task == "regression":
            return np.asarray(search.predict(test)), np.array([]), chosen
        shares = search.predict_proba(test)
        # One column for each class, in sorted order.
        classes = np.array(sorted(map(str, shares.columns)))
        return shares[list(classes)].to_numpy(), classes, chosen


def _answer_default(table: ChoiceTable, train: Any, test: Any, kind: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the answers of a booster with its default settings."""
    X, new = _code_texts(train, test, table.target)
    numbers = table.task == "regression"
    if kind == "lightgbm":
        import lightgbm

        maker = lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier
        model = maker(n_jobs=CORES, random_state=0, verbose=-1)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        model = (HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier)(random_state=0)
    model.fit(X, train[table.target])
    if numbers:
        return model.predict(new), np.array([]), kind
    return model.predict_proba(new), np.asarray(model.classes_), kind


def _answer_stopped(table: ChoiceTable, train: Any, test: Any) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the answers of LightGBM with a learning rate of 0.05, and as many rounds as a tenth of the rows asks."""
    import lightgbm
    from sklearn.model_selection import train_test_split

    X, new = _code_texts(train, test, table.target)
    numbers = table.task == "regression"
    y = train[table.target]
    counts = y.value_counts()
    stratify = None if numbers or counts.min() < 2 else y
    X, X_val, y, y_val = train_test_split(X, y, test_size=0.1, random_state=0, stratify=stratify)
    maker = lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier
    model = maker(n_estimators=2000, learning_rate=0.05, n_jobs=CORES, random_state=0, verbose=-1)
    model.fit(X, y, eval_set=[(X_val, y_val)], callbacks=[lightgbm.early_stopping(50, verbose=False)])
    rounds = f"{model.best_iteration_} rounds"
    if numbers:
        return model.predict(new), np.array([]), rounds
    return model.predict_proba(new), np.asarray(model.classes_), rounds
