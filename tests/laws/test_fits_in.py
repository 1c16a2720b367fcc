"""Promise 1, it fits in: scikit-learn's own checks, in every setting; promise 9's declared exceptions stay needed."""

import importlib
import importlib.util
import inspect
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.laws.settings import STANDARDISED
from tests.laws.subjects import public_estimators, required, subjects


def choose_checks(mark):
    """Leave out the checks of the array standard: they skip without SCIPY_ARRAY_API, which test_devices sets."""
    names, pairs = mark.args
    chosen = [pair for pair in pairs if "check_array_api" not in repr(pair)]
    return pytest.mark.parametrize(names, chosen, ids=mark.kwargs["ids"])


@choose_checks(
    parametrize_with_checks(
        [subject.make(**STANDARDISED.get(subject.name, {})) for subject in subjects()],
        expected_failed_checks=lambda estimator: estimator._check_exceptions,
        xfail_strict=True,
    )
)
def test_scikit_learn_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_every_parameter_is_declared_with_its_range(estimator):
    parameters = set(inspect.signature(estimator.__init__).parameters) - {"self"}
    assert set(estimator._parameters) == parameters


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_defaults_keep_their_own_ranges(estimator):
    model = estimator(**required(estimator))
    for name, rule in estimator._parameters.items():
        assert rule.accepts(getattr(model, name)), name


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_the_documentation_states_each_declared_range(estimator):
    text = " ".join(inspect.getdoc(estimator).split())
    for name, rule in estimator._parameters.items():
        parameter = inspect.signature(estimator).parameters[name]
        default = "" if parameter.default is parameter.empty else f", default={parameter.default!r}"
        assert f"{name} : {' '.join(rule.text.split())}{default}" in text.replace('"', "'"), name


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_scikit_learns_parameters_and_defaults_are_kept(estimator):
    family = estimator.__module__.split(".")[1]
    if importlib.util.find_spec(f"sklearn.{family}") is None:
        return
    theirs = getattr(importlib.import_module(f"sklearn.{family}"), estimator.__name__, None)
    if theirs is None:
        return
    mine = inspect.signature(estimator).parameters
    for name, parameter in inspect.signature(theirs).parameters.items():
        assert name in mine, name
        assert repr(mine[name].default) == repr(parameter.default), name


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_exemptions_name_a_law_that_checks_whether_they_are_needed(estimator):
    assert set(estimator._law_exceptions) <= {"memory", "row order", "rows alone", "three dimensions", "weights"}
    assert all(len(reason) > 20 for reason in estimator._law_exceptions.values())
