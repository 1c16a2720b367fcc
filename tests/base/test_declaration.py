"""Declared parameters: the constructor made from them, their order, inheritance, and calls that do not fit."""

import copy
import inspect
import pickle
from typing import Any

import pytest
from sklearn.base import clone

from mercer._base import Estimator, fitting
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._base.parameter.documentation import describe_parameter
from mercer.errors import ParameterError


class Base(Estimator):
    """What both models below share."""

    tol: float = parameter(Real(0), default=1e-4)
    max_iter: int = parameter(Integer(1), default=100)
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)
    n_iter_limit: int = attribute(5)
    centre_: Any = attribute()

    @fitting
    def fit(self, X, y=None):
        self.centre_ = 1.0
        return self


class Model(Base):
    """Own parameters, one of them behind an inherited one."""

    n_parts: int = parameter(Integer(1), default=2, kw_only=False)
    method: str = parameter(Choice("one", "two"), default="one")
    start: Any = parameter(Array() | Nothing(), default=None, after="max_iter")
    copy: bool = parameter(Boolean(), default=True)


class Strict(Base):
    """One parameter that must be given, one that is taken away, one with another default."""

    parts: list[Any] = parameter(Array(), kw_only=False)
    tol: float = parameter(Real(0), default=1e-2)
    max_time: Any = attribute()


class Described(Base):
    """A model with texts.

    Attributes
    ----------
    centre_ : float
        The centre.
    """

    tol: float = parameter(Real(0), default=1e-2, doc="The fit ends here.")
    start: Any = parameter(Array(), kw_only=False)
    n_parts: int = parameter(Integer(1), default=2, kw_only=False, doc="The number of parts.\n- one;\n- or more.")


class Renamed(Described):
    """One other text."""

    _documents = {"tol": "As in :class:`Described`."}


def spell(estimator):
    """Write the names of the signature."""
    return " ".join(inspect.signature(estimator).parameters)


def test_the_signature_is_that_of_a_constructor_written_by_hand():
    def by_hand(
        self,
        n_parts: int = 2,
        *,
        method: str = "one",
        tol: float = 1e-4,
        max_iter: int = 100,
        start: Any = None,
        copy: bool = True,
        max_time: float | None = None,
    ) -> None: ...

    assert inspect.signature(Model.__init__) == inspect.signature(by_hand)
    assert str(inspect.signature(Model)) == str(inspect.signature(by_hand)).replace("self, ", "")
    assert Model.__init__.__annotations__ == by_hand.__annotations__
    assert Model.__init__.__qualname__ == "Model.__init__"
    assert Model.__init__.__module__ == __name__


def test_own_parameters_come_first_and_after_places_those_that_follow_too():
    assert spell(Model) == "n_parts method tol max_iter start copy max_time"
    assert spell(Base) == "tol max_iter max_time"
    assert list(Model._parameters) == spell(Model).split()


def test_of_several_bases_the_first_comes_first():
    class Left(Base):
        left: int = parameter(Integer(), default=1)

    class Right(Base):
        right: int = parameter(Integer(), default=2)
        tol: float = parameter(Real(0), default=0.5)

    class Both(Left, Right):
        pass

    assert spell(Both) == "left right tol max_iter max_time"
    # As attributes are found: the tol of Right hides that of Base, though Left inherits the latter.
    assert Both().tol == 0.5


def test_a_line_replaces_an_inherited_one_and_an_attribute_takes_it_away():
    assert spell(Strict) == "parts tol max_iter"
    assert Strict([1]).tol == 1e-2
    assert Base().tol == 1e-4
    assert "max_time" not in Strict._parameters


def test_values_are_given_by_name_or_by_position():
    assert Model(3, tol=0.1).get_params() == {
        "n_parts": 3,
        "method": "one",
        "tol": 0.1,
        "max_iter": 100,
        "start": None,
        "copy": True,
        "max_time": None,
    }
    assert list(vars(Model(max_iter=7))) == spell(Model).split()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Model(tolerance=1), r"Model.__init__\(\) got an unexpected keyword argument 'tolerance'"),
        (lambda: Model(1, 2), r"Model.__init__\(\) too many positional arguments"),
        (lambda: Model(1, n_parts=2), r"Model.__init__\(\) got multiple values for argument 'n_parts'"),
        (lambda: Strict(), r"Strict.__init__\(\) missing a required argument: 'parts'"),
        (lambda: Base(1), r"Base.__init__\(\) too many positional arguments"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_the_name_of_the_constructor(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_a_refused_call_leaves_the_instance_as_it_was():
    model = Model(5)
    with pytest.raises(TypeError):
        model.__init__(6, wrong=1)
    assert model.n_parts == 5


def test_the_rule_makes_the_error():
    with pytest.raises(ParameterError, match=r"Model: max_iter must be an integer in \[1, inf\); got 0\."):
        Model(max_iter=0).fit([[1.0]])
    with pytest.raises(ParameterError, match=r"Model: method must be one of 'one', 'two'; got 'three'\."):
        Model(method="three").fit([[1.0]])


def test_a_default_that_could_be_changed_is_refused():
    for default in ([], {}, set()):
        with pytest.raises(TypeError, match="could be changed by one instance for all"):
            parameter(Array(), default=default)


def test_what_one_instance_is_given_does_not_reach_another():
    first = Model(start=[1])
    first.start.append(2)
    first.max_iter = 3
    assert (Model().start, Model().max_iter) == (None, 100)


def test_the_class_has_no_attribute_of_a_parameter_but_the_constants():
    for name in (*spell(Model).split(), "centre_"):
        assert not hasattr(Model, name), name
    assert (Model.n_iter_limit, Model().n_iter_limit) == (5, 5)
    with pytest.raises(AttributeError):
        Model().centre_  # noqa: B018


def test_parameters_are_cloned_copied_and_pickled():
    model = Model(4, start=(1.0, 2.0))
    for other in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(other) is Model
        assert other.get_params() == model.get_params()
    assert repr(model) == "Model(n_parts=4, start=(1.0, 2.0))"
    assert model.set_params(tol=0.5).tol == 0.5


def test_a_constructor_written_by_hand_stays():
    class Written(Model):
        def __init__(self, extra=1):
            super().__init__(n_parts=extra)
            self.extra = extra

    class Heir(Written):
        weight_: float = attribute()

    assert spell(Written) == spell(Heir) == "extra"
    assert (Heir(3).n_parts, Heir(3).extra) == (3, 3)


def test_a_class_without_parameters_has_no_made_constructor():
    class Plain(Estimator):
        weight_: float = attribute()

    assert Plain.__init__ is object.__init__
    assert Plain()._parameters == {}


def test_after_names_a_parameter_that_precedes():
    with pytest.raises(TypeError, match=r"Lost: name is declared after 'nothing', which is no parameter above it\."):

        class Lost(Base):
            name: str = parameter(Choice("a"), default="a", after="nothing")


def test_the_parameters_of_a_docstring_come_from_the_declarations_and_its_attributes_end_with_the_record_of_the_fit():
    assert inspect.getdoc(Described).splitlines() == [
        "A model with texts.",
        "",
        "Parameters",
        "----------",
        "start : an array-like",
        "n_parts : an integer in [1, inf), default=2",
        "    The number of parts.",
        "    - one;",
        "    - or more.",
        "tol : a number in [0, inf), default=0.01",
        "    The fit ends here.",
        "max_iter : an integer in [1, inf), default=100",
        "max_time : a number in [0, inf) or None, default=None",
        "    Seconds after which the fit ends with what it has.",
        "",
        "Attributes",
        "----------",
        "centre_ : float",
        "    The centre.",
        "history_, converged_, n_iter_, certificate_",
        "    How the fit went.",
        "n_features_in_, feature_names_in_",
        "    Number and names of the columns.",
    ]


def test_a_class_states_only_the_texts_that_differ_from_those_it_inherits():
    before, after = (
        inspect.getdoc(one).partition("Parameters\n")[2].partition("\n\n")[0] for one in (Described, Renamed)
    )
    assert after == before.replace("The fit ends here.", "As in :class:`Described`.")


def test_a_text_for_a_name_that_is_no_parameter_is_refused():
    with pytest.raises(TypeError, match=r"Other: _documents describes \['toll'\], which are no parameters of it"):
        type("Other", (Described,), {"_documents": {"toll": "A slip."}, "__doc__": "Other."})


def test_a_section_that_is_written_stays_and_no_docstring_gets_none():
    text = "Short.\n\nParameters\n----------\ntol : float\n    Mine.\n"
    assert type("Written", (Described,), {"__doc__": text}).__doc__ == text
    assert type("Bare", (Described,), {}).__doc__ is None


def test_long_texts_are_folded_below_their_first_word():
    words = " ".join(["word"] * 60)
    lines = describe_parameter("p", "a rule", None, f"{words}\n- {words}")
    assert lines[0] == "p : a rule"
    assert max(map(len, lines)) <= 120
    assert [line[:6] for line in lines[1:]] == ["    wo"] * 3 + ["    - "] + ["      "] * 2
    assert " ".join(" ".join(lines[1:]).split()) == f"{words} - {words}"
