"""Batches: each row once an epoch, another order in each, and three fates of the last rows."""

import re
from itertools import islice

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.optim import iterate_batches, minimize_stochastic


@pytest.mark.catalogue("WF-04")
@pytest.mark.parametrize(("n", "size"), [(10, 4), (10, 5), (7, 7), (3, 8), (1, 1)])
def test_each_row_comes_once_an_epoch_and_the_order_changes(n, size):
    per_epoch = -(-n // size)
    batches = list(iterate_batches(n, size, n_epochs=4, random_state=2))
    assert len(batches) == 4 * per_epoch
    epochs = [np.concatenate(batches[first : first + per_epoch]) for first in range(0, len(batches), per_epoch)]
    for order in epochs:
        np.testing.assert_array_equal(np.sort(order), np.arange(n))
    if n > 3:
        assert len({tuple(order) for order in epochs}) == 4
    again = list(iterate_batches(n, size, n_epochs=4, random_state=2))
    assert all(np.array_equal(one, two) for one, two in zip(batches, again, strict=True))


@pytest.mark.catalogue("WF-04")
def test_the_last_rows_are_kept_dropped_or_filled_up():
    sizes = {last: [len(rows) for rows in iterate_batches(11, 4, last=last)] for last in ("keep", "drop", "fill")}
    assert sizes == {"keep": [4, 4, 3], "drop": [4, 4], "fill": [4, 4, 4]}
    *_, filled = iterate_batches(11, 4, last="fill", shuffle=False)
    assert filled.tolist() == [8, 9, 10, 0]
    (only,) = iterate_batches(3, 8, last="fill", shuffle=False)
    assert only.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert list(iterate_batches(3, 8, last="drop")) == []


@pytest.mark.catalogue("WF-04")
def test_all_orders_are_equally_likely():
    orders = [tuple(rows) for rows in iterate_batches(3, 3, n_epochs=3000, random_state=0)]
    shares = np.array([orders.count(order) for order in set(orders)]) / 3000
    assert len(shares) == 6
    np.testing.assert_allclose(shares, 1 / 6, atol=5 * np.sqrt(5 / 36 / 3000))
    assert [len(rows) for rows in islice(iterate_batches(3, 2, n_epochs=None), 5)] == [2, 1, 2, 1, 2]


@pytest.mark.catalogue("WF-04")
def test_stochastic_minimisation_sees_each_row_once_an_epoch_in_new_orders():
    seen = []

    def grad(x, rows):
        seen.append(np.array(rows))
        return np.zeros(1)

    minimize_stochastic(
        lambda x, rows: 1.0, [0.0], n_samples=11, batch_size=4, grad=grad, stop=_after(3), random_state=0
    )
    epochs = [np.concatenate(seen[first : first + 3]) for first in (0, 3, 6)]
    assert all(np.array_equal(np.sort(order), np.arange(11)) for order in epochs)
    assert [len(rows) for rows in seen[:3]] == [4, 4, 3]
    assert len({tuple(order) for order in epochs}) == 3


def _after(n):
    from mercer.optim import MaxIter

    return MaxIter(n)


def test_what_is_no_batch_is_refused_at_the_call():
    with pytest.raises(ParameterError, match=re.escape("batch_size must be an integer in [1, inf); got 0")):
        iterate_batches(3, 0)
    with pytest.raises(ParameterError, match="last must be one of 'keep', 'drop', 'fill'; got 'wrap'"):
        iterate_batches(3, 2, last="wrap")
