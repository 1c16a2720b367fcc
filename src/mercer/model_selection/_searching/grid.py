"""Searches that try every setting of a grid, or some drawn at random."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from mercer._base.parameter import Integer, Rule, Seed, Text, parameter
from mercer.model_selection._searching.base import BaseSearch, Task, list_settings, read_seed
from mercer.model_selection._searching.records import Log
from mercer.model_selection._searching.solver import Round


class Grid(Rule):
    """Values for parameters: a dictionary, or a list of some."""

    text = "a dict or a list of dicts"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, Mapping):
            return True
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)

    def list_refused(self) -> Iterator[Any]:
        yield from (1.5, "C")


GRID = Grid()
DISPATCH = Integer() | Text()


class OneRound(BaseSearch):
    """A search that tries all of its settings on the same splits."""

    pre_dispatch: Any = parameter(
        DISPATCH,
        default="2*n_jobs",
        after="verbose",
        doc="Kept for programs that set it; threads share the rows, and nothing is dispatched.",
    )

    def _list(self) -> list[dict[str, Any]]:
        raise NotImplementedError  # each search has settings of its own

    def _prepare(self, task: Task) -> None:
        task.settings = self._list()
        task.judge = task.make_judge(task.splits)
        if self.verbose:
            n = len(task.settings)
            print(f"Fitting {self.n_splits_} folds for each of {n} candidates, totalling {n * self.n_splits_} fits")

    def _count_settings(self, task: Task) -> int | None:
        return len(task.settings)

    def _plan(self, task: Task, number: int, log: Log) -> Round | None:
        if number:
            return None
        # A search that is resumed goes on with the settings that it had drawn.
        return Round(log.settings or task.settings, task.judge)


class GridSearchCV(OneRound):
    """A search that tries every combination of given values, and fits the best one to all rows.

    Each setting is fitted to the training rows of each split and scored on its test rows. The setting with the largest
    mean score is chosen, the first one in case of a tie.

    Attributes
    ----------
    best_estimator_ : estimator
        The best setting, fitted to all rows; only with `refit`.
    best_params_ : dict
        The best setting.
    best_score_ : float
        Its mean score over the splits; not where `refit` is a function.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of ndarray
        Settings, scores, ranks and seconds, with scikit-learn's keys; a DataFrame can be made of it.
    scorer_ : callable or dict
        The scorer, or the scorers by their names.
    n_splits_ : int
        The number of splits.
    refit_time_ : float
        Seconds of the last fit.
    multimetric_ : bool
        Whether there are several scores.
    classes_, n_features_in_, feature_names_in_
        As in the best model.
    history_, converged_, n_iter_, certificate_
        A step for each setting; the objective is the best mean score so far. There is no certificate: the settings
        are compared, and others may be better.

    Notes
    -----
    Costs a fit for each setting and split. Settings that change only the last step of a pipeline share its first steps,
    which are fitted once to each split. Where a class has ``warm_start``, settings that differ in the number of trees,
    in the rounds of a boosting or in the penalty of a lasso are tried in that order, and each fit goes on from the one
    before: 10 to 500 trees cost the fit of 500. The seconds in ``cv_results_`` are then those of the rest of a fit, and
    penalties give scores that agree with those of separate fits to the tolerance.

    The order of fits does not depend on threads: the choice and all scores have the same bits for any `n_jobs`. Fits
    share the rows in memory, and run on threads rather than in processes.

    Ctrl-C keeps the settings tried so far in ``cv_results_`` and ``best_params_``, with a warning; the best of them is
    then not fitted. With ``set_callbacks(mercer.watch.Checkpoint(path))`` a search that was killed goes on where it
    stopped. Rows must be in memory: of a file or a Dask collection take a sample, or search with ``partial_fit``.

    The best score of a search is too optimistic for new rows, because it was chosen for being the best;
    :func:`nested_cv` gives an estimate without that bias.

    References
    ----------
    S. Arlot and A. Celisse, *A survey of cross-validation procedures for model selection*, Statistics Surveys 4 (2010).

    Examples
    --------
    >>> from mercer.model_selection import GridSearchCV
    >>> from mercer.svm import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [1, 10], "gamma": [0.01, 0.1]}).fit(X, y)
    >>> search.best_params_, round(search.best_score_, 2)
    ({'C': 1, 'gamma': 0.1}, 0.98)

    See Also
    --------
    RandomizedSearchCV : Tries settings drawn at random.
    HalvingGridSearchCV : Tries many settings on few rows first.
    nested_cv : Estimates how good the chosen setting is on new rows.
    """

    param_grid: Any = parameter(
        GRID,
        kw_only=False,
        after="estimator",
        doc="Values for each parameter, by its name; every combination is tried. A list of such dictionaries is one "
        "grid after the other.",
    )

    def _list(self) -> list[dict[str, Any]]:
        return list_settings(ParameterGrid(self.param_grid))


class RandomizedSearchCV(OneRound):
    """A search that tries settings drawn at random, and fits the best one to all rows.

    Values are drawn from lists, without repetition where all are lists, or from distributions. Of n settings the best
    is among the top share q of all with probability 1 - (1 - q)^n: of 60 among the top 5 % with 95 %.

    Attributes
    ----------
    best_estimator_ : estimator
        The best setting, fitted to all rows; only with `refit`.
    best_params_ : dict
        The best setting.
    best_score_ : float
        Its mean score over the splits; not where `refit` is a function.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of ndarray
        Settings, scores, ranks and seconds, with scikit-learn's keys; a DataFrame can be made of it.
    scorer_ : callable or dict
        The scorer, or the scorers by their names.
    n_splits_ : int
        The number of splits.
    refit_time_ : float
        Seconds of the last fit.
    multimetric_ : bool
        Whether there are several scores.
    classes_, n_features_in_, feature_names_in_
        As in the best model.
    history_, converged_, n_iter_, certificate_
        A step for each setting; the objective is the best mean score so far. There is no certificate: the settings
        are compared, and others may be better.

    Notes
    -----
    The settings are those that scikit-learn draws from the same seed. All else is as in :class:`GridSearchCV`: cost,
    threads, Ctrl-C and checkpoints, which keep the settings that were drawn.

    References
    ----------
    J. Bergstra and Y. Bengio, *Random search for hyper-parameter optimization*, Journal of Machine Learning Research 13
    (2012).

    Examples
    --------
    >>> from mercer.linear_model import Ridge
    >>> from mercer.model_selection import RandomizedSearchCV
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = RandomizedSearchCV(Ridge(), {"alpha": loguniform(1e-4, 1e3)}, n_iter=20, random_state=0).fit(X, y)
    >>> round(search.best_score_, 2)
    0.48

    See Also
    --------
    GridSearchCV : Tries every combination.
    search_settings : Also where a model of the scores expects the greatest improvement.
    """

    param_distributions: Any = parameter(
        GRID,
        kw_only=False,
        after="estimator",
        doc="For each parameter, by its name, a list of values or a distribution with a method ``rvs``, such as "
        "``scipy.stats.loguniform(1e-3, 1e3)``; or a list of such dictionaries.",
    )
    n_iter: int = parameter(Integer(1), default=10, after="param_distributions", doc="The number of settings tried.")
    random_state: Any = parameter(Seed(), default=None, after="pre_dispatch", doc="Draws the settings.")

    def _list(self) -> list[dict[str, Any]]:
        return list_settings(
            ParameterSampler(self.param_distributions, self.n_iter, random_state=read_seed(self.random_state))
        )
