"""Promise 1, it fits in: scikit-learn's own checks, in every setting; promise 9's declared exceptions stay needed."""

import importlib
import importlib.util
import inspect
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.laws.settings import STANDARDISED
from tests.laws.subjects import first_settings, public_estimators, required, subjects

# Checks whose outcome a solver can change and that no law of this folder covers. The other settings of a class are held
# to these; what else scikit-learn checks of them (order and choice of rows, storage, pickles, frames, wrong input) is
# either a law for every setting, or decided by the class: its parameters, tags, messages and attributes.
OF_SOLVERS = (
    "check_class_weight",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_train",
    "check_clustering",
    "check_estimators_dtypes",
    "check_fit2d_1feature",
    "check_non_transformer_estimators_n_iter",
    "check_outliers_train",
    "check_regressor_multioutput",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weight",
    "check_transformer_general",
    "check_transformer_n_iter",
)
FIRST = first_settings()
OTHERS = [subject for subject in subjects() if not any(subject is first for first in FIRST)]


def name_check(pair):
    """The name of the check in a pair of estimator and check, which may be a set of parameters with marks."""
    _, check = getattr(pair, "values", pair)
    while hasattr(check, "func"):
        check = check.func
    return check.__name__


def list_checks(chosen, is_wanted):
    """Pairs of estimators and checks, and the function that names them."""
    mark = parametrize_with_checks(
        [subject.make(**STANDARDISED.get(subject.name, {})) for subject in chosen],
        expected_failed_checks=lambda estimator: estimator._check_exceptions,
        xfail_strict=True,
    )
    return [pair for pair in mark.args[1] if is_wanted(name_check(pair))], mark.kwargs["ids"]


# The checks of the array standard skip without SCIPY_ARRAY_API, which test_devices sets.
PAIRS, NAMES = list_checks(FIRST, lambda name: not name.startswith("check_array_api"))
PAIRS += list_checks(OTHERS, lambda name: name.startswith(OF_SOLVERS))[0]


@pytest.mark.parametrize(("estimator", "check"), PAIRS, ids=NAMES)
def test_scikit_learn_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_every_parameter_is_declared_with_its_range(estimator):
    parameters = set(inspect.signature(estimator.__init__).parameters) - {"self"}
    assert set(estimator._parameters) == parameters


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_every_parameter_is_declared_exactly_once(estimator):
    declared = [(base, vars(base).get("_declared", {})) for base in estimator.__mro__]
    for name, parameter in inspect.signature(estimator).parameters.items():
        lines = [(base, lines[name]) for base, lines in declared if lines.get(name) is not None]
        assert lines, name
        # A class repeats the line of a base only to change it: default, rule, type, position or place.
        for number, (cls, line) in enumerate(lines):
            for base, inherited in [other for other in lines[number + 1 :] if issubclass(cls, other[0])][:1]:
                said = [(str(one.describe(name)), one.kw_only, one.rule.text) for one in (line, inherited)]
                before = [("", *one._parameters)[list(one._parameters).index(name)] for one in (cls, base)]
                assert said[0] != said[1] or before[0] != before[1], f"{cls.__name__} repeats {name} of {base.__name__}"
        assert lines[0][1].describe(name) == parameter
    # No table and no constructor says it again.
    written = [base for base in estimator.__mro__ if "__init__" in vars(base) and base is not object]
    assert all(hasattr(base.__init__, "is_made") for base in written)


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_type_checkers_see_positional_parameters_in_the_order_of_the_signature(estimator):
    # They read the lines of the bases first (PEP 681), and a line that replaces another takes its place.
    seen = {}
    for base in reversed(estimator.__mro__):
        seen |= vars(base).get("_declared", {})
    by_position = [name for name, line in seen.items() if line is not None and not line.kw_only]
    parameters = inspect.signature(estimator).parameters.values()
    assert by_position == [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]


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
