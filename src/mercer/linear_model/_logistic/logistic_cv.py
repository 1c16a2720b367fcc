"""Logistic regression whose penalty is chosen by cross-validation."""

import math
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metadata_routing import UNUSED

from mercer._base import fitting, seed_sequence
from mercer._base.folds import FOLDS, route_parameters, router, scorer_of, splits
from mercer._base.linear.classifier import label_classes
from mercer._base.parameter import (
    Array,
    Boolean,
    Choice,
    Function,
    Instance,
    Integer,
    Nothing,
    Real,
    Seed,
    Text,
    attribute,
    parameter,
)
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.newton import NewtonState
from mercer._stored import Stored, anything, floats
from mercer.linear_model._logistic.logistic import LogisticRegression, read_parameters
from mercer.linear_model._logistic.paths import Choices, Paths, Search, make_problem, read_choices, worker_of

_AVERAGED = "Coefficients averaged over folds minimise no single objective; set refit=True for those that do."


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with the penalty that cross-validation chooses.

    For each C in ``Cs`` and each r in ``l1_ratios`` the objective of :class:`LogisticRegression`,

        J(W, b) = (1 / S) (sum_i s_i loss(W x_i + b, y_i) + (1 / C) (r |W|_1 + (1 - r) / 2 |W|_2^2)),

    is minimised on the training rows of each fold, and the pair with the best mean score on the test rows is fitted to
    all rows.

    Attributes
    ----------
    classes_, coef_, intercept_
        As of :class:`LogisticRegression`.
    Cs_, l1_ratios_ : ndarray
        What was searched.
    C_, l1_ratio_ : float; in legacy form ndarray of shape (1,) or (n_classes,)
        The best C and l1 ratio; without ``refit``, means of each fold's best.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Scores on the test rows; in legacy form a dict by class.
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, 1 or n_classes, n_features + 1)
        Coefficients and, last, intercepts on each fold; in legacy form a dict by class.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Steps of each fit on a fold.
    solver_used_, history_, converged_, certificate_
        How the last fit went, as of :class:`LogisticRegression`. Averages have no certificate.

    Notes
    -----
    Rows of a fold are not copied: those left out weigh nothing. Along the path each fit starts from the last one, and
    the moments that set its metric are summed once a fold. Extra memory is n numbers a thread and a copy of one fold's
    test rows. Rows in memory: NumPy, frames, memory maps, CSR.

    Examples
    --------
    >>> from mercer.linear_model import LogisticRegressionCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = LogisticRegressionCV(Cs=5, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False)
    >>> model = search.fit(X / X.std(axis=0), y)
    >>> print(f"C = {model.C_:g}, log loss {-model.scores_.mean(axis=0).max():.2f}")
    C = 1, log loss 0.08
    """

    _needs_rows: ClassVar[str] = "it fits to folds of the rows"

    Cs: Any = parameter(
        Integer(1) | Array(flat=True),
        default=10,
        doc="Inverse strengths of the penalty; an integer is their number between 1e-4 and 1e4, evenly on a log scale.",
    )
    l1_ratios: Any = parameter(
        Array() | Choice("warn") | Nothing(),
        default="warn",
        doc="Shares of the l1 penalty. 'warn' and None mean l2 alone; scikit-learn 1.10 will ask for ``(0,)``.",
    )
    cv: Any = parameter(
        FOLDS, default=None, after="fit_intercept", doc="Folds, stratified where a number is given; None means five."
    )
    dual: bool = parameter(
        Boolean(), default=False, doc='Solve the dual; for ``solver="liblinear"`` with an l2 penalty only.'
    )
    penalty: str = parameter(
        Choice("l1", "l2", "elasticnet", "deprecated"),
        default="deprecated",
        doc="Deprecated by scikit-learn 1.8: use `l1_ratios`.",
    )
    scoring: Any = parameter(
        Text() | Function() | Nothing(),
        default="warn",
        doc="What is to be largest on the test rows. 'warn' and None mean accuracy; scikit-learn 1.11 will take "
        "'neg_log_loss', which also sees how sure a model is.",
    )
    tol: float = parameter(
        Real(0, math.inf, "left"),
        default=1e-4,
        after="solver",
        doc="When a fit ends, as for :class:`LogisticRegression`.",
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        after="max_iter",
        doc='Weights of the classes; "balanced" makes them inverse to the frequencies in all rows.',
    )
    n_jobs: int | None = parameter(
        Integer() | Nothing(),
        default=None,
        doc="Threads, over folds and then over blocks of rows; results do not depend on it.",
    )
    refit: bool = parameter(
        Boolean(),
        default=True,
        after="verbose",
        doc="Whether to fit all rows with the best penalty; otherwise the coefficients of each fold's best are "
        "averaged.",
    )
    intercept_scaling: float = parameter(
        Real(0, math.inf, "neither"), default=1.0, doc='The constant column of "liblinear".'
    )
    random_state: Any = parameter(
        Seed(),
        default=None,
        doc='Decides the order of rows in "sag", "saga" and the dual of "liblinear"; folds have their own.',
    )
    use_legacy_attributes: Any = parameter(
        Boolean() | Choice("warn"),
        default="warn",
        doc="Whether attributes have the shapes of scikit-learn before 1.10: 'warn' means True.",
    )

    _documents = {
        "solver": "The method, as for :class:`LogisticRegression`.",
        "max_iter": "The most steps of one fit.",
        "verbose": "Whether to print a line per step of the last fit.",
        "max_time": "Seconds after which fits on folds, and the last fit, end at their next step.",
    }

    C: Any = attribute()
    l1_ratio: Any = attribute()
    warm_start: Any = attribute()

    # Arrays, or dictionaries and arrays by class, as `use_legacy_attributes` says.
    C_: Any = attribute()
    l1_ratio_: Any = attribute()
    scores_: Any = attribute()
    coefs_paths_: Any = attribute()

    # `score` only passes weights on to the scorer.
    __metadata_request__score = {"sample_weight": UNUSED}
    _places: ClassVar[tuple[str, ...]] = ("memory",)

    _stored: ClassVar[dict[str, Stored]] = {
        "Cs_": floats("*"),
        "l1_ratios_": anything("results of the search, which no prediction reads"),
        "C_": floats(" | *"),
        "l1_ratio_": anything("results of the search, which no prediction reads"),
        "scores_": anything("results of the search, which no prediction reads"),
        "coefs_paths_": anything("results of the search, which no prediction reads"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "LogisticRegressionCV":
        """Fit the model.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), default=None
            Their weights: a weight of 2 equals the row twice; scorers get them too.
        **params : dict
            For the scorer and the splitter, with scikit-learn's metadata routing.
        """
        choices = read_choices(self)
        opened = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
        classes, source = label_classes(self, opened)
        self._check_class_count(len(classes))
        to_scorer, to_splitter = route_parameters(self, "fit", opened.weight, params)
        folds = splits(self.cv, opened.whole(), opened.y, classifier=True, **to_splitter)
        search = Search(
            self, source, opened.y, classes, folds, choices.Cs, choices.ratios, self._get_scorer(), to_scorer
        )
        record: dict[str, Any] = {}
        outcome = self._drive(
            lambda start: self._search(search, record, start),
            source,
            fitted=partial(self._read_state, dtype=source.host_dtype),
            max_steps=max(1, self.max_iter),
            attributes={"classes_": classes},
        )
        self.solver_used_ = record["method"]
        self._show(record["paths"], record["best"], choices)
        self._conclude(outcome)
        return self

    def _search(self, search: Search, record: dict[str, Any], start: Any) -> Solver:
        """Score the paths, then fit all rows with the best penalty, or average the folds."""
        paths = record["paths"] = yield Dense(search.run)
        if not self.refit:
            return (yield from self._average(search, paths, record))
        total = np.sum(paths.scores, axis=0)
        ratio, C = record["best"] = np.unravel_index(np.argmax(total.T), total.T.shape)[::-1]
        source = search.source
        # The last child seed belongs to this fit; the others belonged to the folds.
        seed = seed_sequence(self.random_state).spawn(paths.scores[..., 0].size + 1)[-1]
        model = worker_of(self, int(seed.generate_state(1)[0]))
        problem = make_problem(
            model, search.loss, search.Cs[C], search.ratios[ratio], source.n_features, source.total_weight()
        )
        record["method"], solve = model._choose(problem, source)
        # From where a LogisticRegression with this penalty starts, so that both end at the same coefficients.
        return (yield from solve(start))

    def _average(self, search: Search, paths: Paths, record: dict[str, Any]) -> Solver:
        """Return the mean of the coefficients that scored best on each fold."""
        n_folds = len(search.folds)
        # C outside, ratio inside, as the table of scores is laid out for users.
        flat = np.swapaxes(paths.scores, 1, 2).reshape(n_folds, -1).argmax(axis=1)
        C, ratio = np.unravel_index(flat, (len(search.Cs), len(search.ratios)))
        record["best"], record["method"] = (ratio, C), "mean of folds"
        # Without refit: the mean over folds of the coefficients that were best on each.
        parameters = paths.parameters[np.arange(n_folds), ratio, C].mean(axis=0)
        state, certificate = NewtonState(parameters, 1), Certificate.none(_AVERAGED)
        score = float(paths.scores[np.arange(n_folds), ratio, C].mean())
        yield Step(-score, state, certificate, {"score": score})
        return Solution(state, True, certificate)

    def _show(self, paths: Paths, best: tuple[Any, Any], choices: Choices) -> None:
        """Set the attributes of the search, in the new form or in the old."""
        width = self.coef_.shape[1] + int(self.fit_intercept)
        parameters = paths.parameters[..., :width]
        ratio, C = (float(np.mean(values[index])) for values, index in zip((choices.ratios, choices.Cs), best))
        self.Cs_ = choices.Cs
        if not choices.legacy:
            self.l1_ratios_ = choices.ratios if choices.has_ratios else np.asarray([None])
            self.C_, self.l1_ratio_ = C, ratio
            self.scores_, self.coefs_paths_, self.n_iter_ = paths.scores, parameters, paths.n_steps  # type: ignore[assignment]
            return
        self._show_as_before(paths, parameters, (ratio, C), choices)

    def _show_as_before(
        self, paths: Paths, parameters: np.ndarray, best: tuple[float, float], choices: Choices
    ) -> None:
        """Store dictionaries by class, C before l1 ratio, without an axis for l1 ratios that were not given."""
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        scores, n_steps = np.swapaxes(paths.scores, 1, 2), np.swapaxes(paths.n_steps, 1, 2)[None]
        coefs = np.moveaxis(parameters, (3, 2), (0, 2))
        ratio: Any = best[0]
        self.l1_ratios_ = choices.ratios
        if not choices.has_ratios:
            scores, n_steps, coefs = scores[..., 0], n_steps[..., 0], coefs[:, :, :, 0]
            self.l1_ratios_ = np.asarray([None])
            ratio = None if self.refit else 0.0
        self.C_, self.l1_ratio_ = (np.asarray([value] * len(labels)) for value in (best[1], ratio))
        self.scores_ = {label: scores.copy() for label in labels}
        self.coefs_paths_ = dict(zip(labels, coefs))
        self.n_iter_ = n_steps  # type: ignore[assignment]

    def _read_state(self, state: Any, dtype: np.dtype) -> dict[str, Any]:
        """Return coefficients and intercepts.

        A constant added to the scores of all classes changes no probability, and no penalty holds the intercepts: those
        of several classes are shifted to sum to zero.
        """
        parameters = state.parameters
        if len(parameters) > 1 and self.fit_intercept:
            parameters = parameters.copy()
            parameters[:, -1] -= parameters[:, -1].mean()
        return read_parameters(replace(state, parameters=parameters), dtype)

    # As in scikit-learn, weights are named: beside them there may be others that metadata routing carries.
    def score(self, X: Any, y: Any, *, sample_weight: Any = None, **score_params: Any) -> float:  # type: ignore[override]
        """Return the score that ``scoring`` names; without it, the accuracy.

        Parameters
        ----------
        **score_params : dict
            For the scorer, with scikit-learn's metadata routing.
        """
        to_scorer, _ = route_parameters(self, "score", sample_weight, score_params)
        return float(self._get_scorer()(self, X, y, **to_scorer))

    def _get_scorer(self) -> Any:
        return scorer_of(self, "accuracy")

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's router; see its guide on metadata routing."""
        return router(self, self._get_scorer(), ("fit", "score"))
