"""Which of scikit-learn's tests are run with mercer's classes, and which name none of them."""

from types import SimpleNamespace

import pytest
from sklearn.preprocessing import RobustScaler

from mercer.linear_model import Ridge
from tests.sklearn_suite.reach import reaches_mercer


class _Derived(Ridge):
    """A class of a test module, derived from a replaced one."""


def _make_ridge():
    return Ridge()


def _call_helper():
    return _make_ridge()


def _look_up(module):
    return getattr(module, "KMeans")  # noqa: B009  # tests look classes up by words


def _fit_their_own():
    return RobustScaler().fit([[1.0], [2.0]])


def _take(estimator):
    return estimator


def make_item(function, *parameters, fixtures=()):
    """The attributes of a collected test that are looked at."""
    info = SimpleNamespace(name2fixturedefs={one.__name__: [SimpleNamespace(func=one)] for one in fixtures})
    return SimpleNamespace(
        function=function,
        callspec=SimpleNamespace(params=dict(enumerate(parameters))),
        fixturenames=[one.__name__ for one in fixtures],
        _fixtureinfo=info,
    )


@pytest.mark.parametrize(
    "item",
    [
        make_item(_make_ridge),
        make_item(_call_helper),
        make_item(_look_up),
        make_item(_take, _Derived),
        make_item(_take, [("ridge", Ridge())]),
        make_item(_take, _make_ridge),
        make_item(_take, fixtures=[_make_ridge]),
    ],
    ids=["name", "helper", "word", "derived class", "list", "function as parameter", "fixture"],
)
def test_a_test_that_names_a_replaced_class_is_run(item):
    assert reaches_mercer(item, {"KMeans"})


@pytest.mark.parametrize("item", [make_item(_fit_their_own), make_item(_take, RobustScaler), make_item(_take, 3, "l2")])
def test_a_test_of_scikit_learns_own_classes_is_left_out(item):
    assert not reaches_mercer(item, {"KMeans"})
