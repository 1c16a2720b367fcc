"""Successive halving: it finds the setting that is best, and looks at no test row of the splits that it halves."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from mercer.linear_model import Ridge
from mercer.model_selection import Contender
from mercer.model_selection._halving import list_sizes
from mercer.model_selection.trials import OutOfTimeError, Rows, Splitting, halve_settings, make_plan


def _plan(seed, n_rows=9000, noise=0.1):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 5))
    y = X @ np.arange(1.0, 6.0) + noise * random.normal(size=n_rows)
    return make_plan(Rows(X, y, None, get_scorer("r2")), Splitting(), outer=3, inner=2, seed=seed)


def test_rounds_grow_by_three_and_end_before_all_rows():
    assert list_sizes(90_000) == [10_000, 30_000]
    assert list_sizes(18_000) == [2000, 6000]
    # Few rows are one round.
    assert list_sizes(3000) == [3000]


def test_the_setting_nearest_to_the_truth_is_returned_first():
    # Without noise the error of ridge regression rises with its penalty.
    plan = _plan(0)
    settings = [{"alpha": value} for value in (1e6, 1e5, 1e-3, 1e4, 1e3, 1e2)]
    best = halve_settings(plan, Contender("ridge", Ridge()), settings, n_kept=2)
    assert best == [{"alpha": 1e-3}, {"alpha": 1e2}]


def test_rows_of_outer_test_parts_do_not_change_the_choice():
    plan = _plan(1, noise=2.0)
    settings = [{"alpha": value} for value in (0.1, 10.0, 1000.0, 3000.0)]
    first = halve_settings(plan, Contender("ridge", Ridge()), settings, n_kept=4, n_splits=1)
    # The test rows of the first outer split get an absurd target, which a choice that looked at them would follow.
    plan.rows.y[plan.outer[0][1]] = 1e6
    assert halve_settings(plan, Contender("ridge", Ridge()), settings, n_kept=4, n_splits=1) == first


def test_threads_do_not_change_the_choice():
    plan = _plan(2, noise=20.0)
    settings = [{"alpha": value} for value in np.geomspace(1, 1e4, 9)]
    one, four = (halve_settings(plan, Contender("r", Ridge()), settings, n_kept=3, threads=n) for n in (1, 4))
    assert one == four


def test_a_deadline_that_is_over_ends_the_search():
    with pytest.raises(OutOfTimeError):
        halve_settings(_plan(3), Contender("ridge", Ridge()), [{"alpha": 1.0}], deadline=0.0)
