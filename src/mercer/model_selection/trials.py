"""The steps of nested cross-validation, for programs that run them one by one.

:func:`~mercer.model_selection.nested_cv` does all of this in one call. A program that stops at a deadline, shows its
progress or looks at the models in between takes the steps itself:

1. :class:`Rows` holds the rows and the scorer, :class:`Splitting` what a split must respect (classes, groups, time).
2. :func:`make_plan` draws the outer and inner folds once, so that every model sees the same ones.
3. :meth:`Plan.run` tries one :class:`~mercer.model_selection.Contender` and returns a
   :class:`~mercer.model_selection.Trial`, or raises :class:`OutOfTimeError`.
4. :func:`conclude` chooses among the trials and returns a :class:`~mercer.model_selection.NestedResult`;
   :func:`find_outdone` compares losses of single rows.

:func:`fit_settings`, :func:`fit_weights`, :func:`respond` and :func:`take_rows` fit and ask one model on one split;
:func:`order_growing` and :func:`score_sizes` make a learning curve on the folds of a plan, and :func:`halve_settings`
finds the best of many settings by successive halving over rows.

Examples
--------
>>> from sklearn.datasets import load_wine
>>> from sklearn.metrics import get_scorer
>>> from mercer.model_selection import Contender
>>> from mercer.model_selection.trials import Rows, Splitting, conclude, make_plan
>>> from mercer.neighbors import NearestCentroid
>>> X, y = load_wine(return_X_y=True)
>>> plan = make_plan(Rows(X, y, None, get_scorer("accuracy")), Splitting(labels=y), outer=3, inner=2)
>>> trial = plan.run(Contender("centroid", NearestCentroid()))
>>> conclude(plan, [trial]).winner
'centroid'
"""

from mercer.model_selection._curves import order_growing, score_sizes
from mercer.model_selection._halving import halve_settings, list_sizes
from mercer.model_selection._nested import conclude
from mercer.model_selection._plan import Plan, make_plan
from mercer.model_selection._rule import find_outdone
from mercer.model_selection._splits import Splitting, split_rows
from mercer.model_selection._trial import (
    OutOfTimeError,
    Rows,
    check_deadline,
    fit_settings,
    fit_weights,
    respond,
    take_rows,
)

__all__ = [
    "OutOfTimeError",
    "Plan",
    "Rows",
    "Splitting",
    "check_deadline",
    "conclude",
    "find_outdone",
    "fit_settings",
    "fit_weights",
    "halve_settings",
    "list_sizes",
    "make_plan",
    "order_growing",
    "respond",
    "score_sizes",
    "split_rows",
    "take_rows",
]
