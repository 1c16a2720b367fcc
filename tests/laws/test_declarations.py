"""What a class stores is declared beside it: the attributes of its docstring, and those of every fit."""

import inspect
import re

import pytest
from sklearn.exceptions import NotFittedError

from mercer._stored import collect_stored
from tests.laws.subjects import public_estimators, required

_SECTION = re.compile(r"^Attributes\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)


def documented_attributes(estimator):
    """The fitted attributes that the class's docstring lists."""
    section = _SECTION.search(inspect.getdoc(estimator) or "")
    lines = section.group(1).splitlines() if section else []
    heads = [line.partition(" :")[0] for line in lines if line and not line.startswith(" ")]
    return {name.strip() for head in heads for name in head.split(",") if name.strip().endswith("_")}


# Saving and loading (test_models_survive) proves the rest: loading refuses undeclared attributes and checks the others.
@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda estimator: estimator.__name__)
def test_every_documented_attribute_is_declared_or_computed(estimator):
    declared = collect_stored(estimator)
    computed = {
        name for name in documented_attributes(estimator) if isinstance(getattr(estimator, name, None), property)
    }
    assert documented_attributes(estimator) <= declared.keys() | computed


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda estimator: estimator.__name__)
def test_every_fitted_attribute_of_an_unfitted_model_says_that_it_is_not_fitted(estimator):
    model = estimator(**required(estimator))
    declared = {name for name in collect_stored(estimator) if not name.startswith("_")}
    for name in sorted(declared | documented_attributes(estimator)):
        assert not hasattr(model, name), name
        with pytest.raises(NotFittedError, match=r"[Ff]it"):
            getattr(model, name)
