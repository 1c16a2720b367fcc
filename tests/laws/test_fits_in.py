"""Promise 1, it fits in: scikit-learn's own checks, in every setting; promise 9's declared exceptions stay needed."""

import ast
import importlib
import importlib.util
import inspect
import warnings
from unittest import SkipTest

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

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


def name_check(check):
    """Return the name of a check, which may be a partial function."""
    while hasattr(check, "func"):
        check = check.func
    return check.__name__


def list_checks(subject):
    """Return the checks of a subject: all of them for the first setting of a class, those of solvers for others."""
    checks = estimator_checks_generator(subject.make(**STANDARDISED.get(subject.name, {})))
    if not any(subject is first for first in FIRST):
        return [pair for pair in checks if name_check(pair[1]).startswith(OF_SOLVERS)]
    # The checks of the array standard skip without SCIPY_ARRAY_API, which test_devices sets.
    return [pair for pair in checks if not name_check(pair[1]).startswith("check_array_api")]


def run_check(estimator, check):
    """Raise what a check raises, and AssertionError where it passes though the class declares an exception to it."""
    declared = name_check(check) in estimator._check_exceptions
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            check(estimator)
    except (SkipTest, pytest.skip.Exception):
        return  # the check does not apply to this estimator
    except Exception:
        if not declared:
            raise
        return
    assert not declared, "the check passes, though the class declares an exception to it"


# One test runs all checks of a setting: ten thousand tests took longer to list and to report than to run.
@pytest.mark.parametrize("subject", subjects(), ids=repr)
def test_scikit_learns_checks_pass(subject):
    wrong = []
    for estimator, check in list_checks(subject):
        try:
            run_check(estimator, check)
        except Exception as error:
            error.add_note(f"in {name_check(check)}")
            wrong.append(error)
    if wrong:
        raise ExceptionGroup(f"scikit-learn's checks of {subject!r}", wrong)


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
        # A default of NaN is not equal to itself.
        described = lines[0][1].describe(name)
        assert described == parameter or (str(described), described.kind) == (str(parameter), parameter.kind)
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
def test_the_documentation_states_range_default_and_meaning_of_each_parameter(estimator):
    text = inspect.getdoc(estimator)
    for name, rule in estimator._parameters.items():
        parameter = inspect.signature(estimator).parameters[name]
        default = "" if parameter.default is parameter.empty else f", default={parameter.default!r}"
        assert f"\n{name} : {rule.text}{default}\n    " in text, name


def test_no_class_writes_the_section_of_parameters_that_its_declarations_make():
    written = []
    for module in {estimator.__module__ for estimator in public_estimators()}:
        for node in ast.walk(ast.parse(inspect.getsource(importlib.import_module(module)))):
            if isinstance(node, ast.ClassDef) and any(one.__name__ == node.name for one in public_estimators()):
                written += [node.name] if "\nParameters\n---" in (ast.get_docstring(node) or "") else []
    assert written == []


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_scikit_learns_parameters_and_defaults_are_kept(estimator):
    family = estimator.__module__.split(".")[1]
    if importlib.util.find_spec(f"sklearn.{family}") is None:
        return
    # scikit-learn hides this one until it is asked for.
    importlib.import_module("sklearn.experimental.enable_iterative_imputer")
    theirs = getattr(importlib.import_module(f"sklearn.{family}"), estimator.__name__, None)
    if theirs is None:
        return
    mine = inspect.signature(estimator).parameters
    for name, parameter in inspect.signature(theirs).parameters.items():
        assert name in mine, name
        assert repr(mine[name].default) == repr(parameter.default), name


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_exemptions_name_a_law_that_checks_whether_they_are_needed(estimator):
    assert set(estimator._law_exceptions) <= {
        "float32",
        "memory",
        "row order",
        "rows alone",
        "three dimensions",
        "weights",
    }
    assert all(len(reason) > 20 for reason in estimator._law_exceptions.values())
