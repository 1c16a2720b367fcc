"""Orthogonal matching pursuit with the number of columns chosen by cross-validation."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.folds import FOLDS
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Boolean, Integer, Nothing, Real, parameter
from mercer._documentation import compose_docstring
from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError
from mercer.linear_model._greedy.documentation import SHARED
from mercer.linear_model._greedy.matching_pursuit import warn_of_dependence
from mercer.linear_model._lasso.one_target_folds import OneTargetFolds
from mercer.linear_model._solvers.greedy.column_products import ProductPlan, open_products, plan_products
from mercer.linear_model._solvers.greedy.matching_pursuit import ORTHOGONAL, MatchingPursuit, PursuitRecord
from mercer.linear_model._solvers.greedy.path_choice import walk_together
from mercer.linear_model._solvers.lasso.coordinate_descent import check_sums
from mercer.linear_model._solvers.lasso.cross_validation import FoldMoments, Weights

# Rounds between which Ctrl-C finds a model to keep, and the fewest columns of one.
_ROUNDS = 4
_FEWEST_COEFFICIENTS = 16
# Columns to try where no number is given: this share of them, and no fewer than the number below.
_SHARE = 0.1
_FEWEST = 5


@plain
@dataclass(frozen=True, eq=False)
class ChosenSize:
    """The model of the number of columns that is best so far, the errors of each number, and where all pursuits are."""

    coef: Array
    intercept: Array
    chosen: int
    errors: Array
    method: str
    records: tuple[PursuitRecord, ...]


def cross_validate_pursuits(
    plan: ProductPlan, splits: list[tuple[Array, Array]], most: int, start: ChosenSize | None
) -> Solver[ChosenSize]:
    """Choose the number of columns, up to `most`, with the least mean squared error over the folds."""
    folds, everything = yield FoldMoments(splits, plan.centre, plan.on_gram, plan.subject)
    own, paths = (yield Weights()), []
    for moments, weight in [*((fold.moments, fold.weight) for fold in folds), (everything, own)]:
        check_sums(plan.subject, moments)
        products = yield from open_products(plan, moments, weight)
        paths.append(MatchingPursuit(plan.subject, most, -np.inf, moments, 0, products))
    method = "gram" if plan.on_gram else "columns"
    if start is not None:
        for path, record in zip(paths, start.records, strict=True):
            yield from path.restore(record)
    pace = max(_FEWEST_COEFFICIENTS, -(-most // _ROUNDS))
    if start is None:
        yield from _advance(paths, pace, len(everything.mean))
    size = _choose(folds, paths, everything, method)
    if start is None:
        yield _report(paths[-1], size)
    while not all(path.is_over for path in paths):
        yield from _advance(paths, pace, len(everything.mean))
        size = _choose(folds, paths, everything, method)
        yield _report(paths[-1], size)
    return Solution(size, True, _certify(paths[-1], size))


def _report(path: MatchingPursuit, size: ChosenSize) -> Step[ChosenSize]:
    return Step(float(size.errors.mean(axis=1).min()), size, _certify(path, size))


def _advance(paths: list[MatchingPursuit], steps: int, n_features: int) -> Generator[Any, Any, None]:
    yield from walk_together([path.walk(steps) for path in paths], steps, n_features)


def _choose(folds: list[Any], paths: list[MatchingPursuit], moments: Any, method: str) -> ChosenSize:
    """Return the number of columns with the least mean error over the folds, as far as all have come."""
    reached = max(1, min(path.n_steps for path in paths[:-1]))
    errors = np.stack(
        [_errors(fold, path.coefs[1 : reached + 1]) for fold, path in zip(folds, paths, strict=False)], axis=1
    )
    chosen = 1 + int(np.argmin(errors.mean(axis=1)))
    coef = paths[-1].coefs[min(chosen, paths[-1].n_steps)][:, None].copy()
    intercept = moments.y_mean - moments.mean @ coef
    return ChosenSize(coef, intercept, chosen, errors, method, tuple(path.record() for path in paths))


def _errors(fold: Any, coefs: Array) -> Array:
    # Targets that no column says anything of leave a fold without a column.
    return fold.errors(coefs if len(coefs) else np.zeros((1, len(fold.moments.mean))))


def _certify(path: MatchingPursuit, size: ChosenSize) -> Certificate:
    return Certificate.of("residual", path.measure_at(size.coef[:, 0]), path.exact, ORTHOGONAL)


class OrthogonalMatchingPursuitCV(OneTargetFolds, LinearRegressor):
    """Orthogonal matching pursuit with as many columns as cross-validation finds best.

    The pursuits of :class:`OrthogonalMatchingPursuit` without each of the folds take columns up to ``max_iter``. That
    number is chosen whose models have the least mean squared error on the fold they were fitted without, on average.

    Attributes
    ----------
    n_nonzero_coefs_ : int
        The number chosen.
    mse_path_ : ndarray of shape (n_sizes, n_folds)
        The mean squared error with one column, two and so on, on each fold.
    %(coef)s
    history_, converged_, certificate_
        How the fit went; the objective is the least mean error over the folds. The certificate is the largest product
        of a column in use with the residual.
    %(features)s

    Notes
    -----
    %(notes)s

    References
    ----------
    Y. C. Pati, R. Rezaiifar and P. S. Krishnaprasad, Orthogonal matching pursuit, 1993.

    Examples
    --------
    >>> from mercer.linear_model import OrthogonalMatchingPursuitCV
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(n_features=100, n_informative=10, noise=4, random_state=0)
    >>> model = OrthogonalMatchingPursuitCV(cv=5).fit(X, y)
    >>> model.n_nonzero_coefs_, round(model.score(X, y), 4)
    (10, 0.9992)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    copy: bool = parameter(
        Boolean(), default=True, doc="Has no effect: rows are neither copied nor overwritten. Kept for scikit-learn."
    )
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    max_iter: int | None = parameter(
        Integer(0) | Nothing(), default=None, doc="The most columns; None means a tenth of them, and at least five."
    )
    cv: Any = parameter(FOLDS, default=None, doc="The folds; None means five, of consecutive rows.")
    verbose: Any = parameter(Boolean() | Integer(0), default=False, after="n_jobs")
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _depends_on_units = ("columns",)
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "the number of columns is that which is best over folds of consecutive rows",
    }
    _objective_moves = None
    _stored: ClassVar[dict[str, Stored]] = {"n_nonzero_coefs_": integers(low=0), "mse_path_": floats("*, *")}
    precompute = "auto"

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "OrthogonalMatchingPursuitCV":
        """Fit the model with the number of columns that has the least mean squared error over the folds.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, to fit and to test with; a weight of two is the row twice.
        **params
            For the splitter, where scikit-learn's metadata routing is on.
        """
        source = self._one_target(self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr"))
        d = source.n_features
        if d < 2:
            raise DataError(
                "OrthogonalMatchingPursuitCV: 1 feature(s) leave no number to choose; a minimum of 2 is required. Use "
                "LinearRegression."
            )
        folds = self._splits(source, sample_weight, params)
        # A pursuit cannot use more columns than it has rows to train on.
        most = min(self.max_iter or max(int(_SHARE * d), _FEWEST), d, *(len(train) for train, _ in folds))
        plan, fitted = plan_products(self, source), partial(self._read_state, dtype=source.dtype_name)
        outcome = self._drive(lambda start: cross_validate_pursuits(plan, folds, most, start), source, fitted=fitted)
        self.n_iter_ = int((self.coef_ != 0).sum())
        warn_of_dependence([record.ended for record in outcome.state.records])
        self._conclude(outcome)
        return self

    def _read_state(self, state: ChosenSize, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes: the model of all rows, and the errors of the folds."""
        return self._linear_attributes(state, dtype, flat_coef=True, flat_intercept=True) | {
            "n_nonzero_coefs_": state.chosen,
            "mse_path_": state.errors,
        }
