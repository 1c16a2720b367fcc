"""Constructor parameters, each declared in one line, and the rules that their values keep."""

from mercer._base.parameter.declaration import Declared, attribute, parameter
from mercer._base.parameter.rules import (
    METRICS,
    Array,
    Boolean,
    Choice,
    Function,
    HasFit,
    Instance,
    Integer,
    MetricName,
    Nothing,
    Real,
    Rule,
    Seed,
    Text,
    check_parameters,
    is_accepted,
)

__all__ = [
    "METRICS",
    "Array",
    "Boolean",
    "Choice",
    "Declared",
    "Function",
    "HasFit",
    "Instance",
    "Integer",
    "MetricName",
    "Nothing",
    "Real",
    "Rule",
    "Seed",
    "Text",
    "attribute",
    "check_parameters",
    "is_accepted",
    "parameter",
]
