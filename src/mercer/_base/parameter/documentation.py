"""Docstring sections that declarations make: the parameters of a class, each with its rule, default and text."""

import re
from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

_SECTION = re.compile(r"^(\S[^\n]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"\n(?=\S)")

_WEIGHTS = (
    "sample_weight : array-like of shape (n_samples,) or None, default=None\n    A weight of two is the row twice."
)
_CLASSES = (
    "classes : array-like of shape (n_classes,) or None, default=None\n"
    "    All labels there will be; needed in the first call."
)
_SELF = "self\n    The fitted estimator."
_PROBABILITIES = "ndarray of shape (n_samples, n_classes)\n    In the order of ``classes_``."
_OUTPUT_COLUMNS = "ndarray of shape (n_samples, n_features_out)"
# What a prediction is, by what the class is.
_PREDICTIONS = {
    "ClassifierMixin": "ndarray of shape (n_samples,)\n    Labels out of ``classes_``.",
    "RegressorMixin": "ndarray of shape (n_samples,)",
    "ClusterMixin": "ndarray of shape (n_samples,)\n    The number of each row's cluster.",
    "OutlierMixin": "ndarray of shape (n_samples,)\n    1 for usual rows, -1 for outliers.",
}
# Where rows may be besides memory.
_PLACES = {
    "file": "a file",
    "stream": "a stream",
    "dask": "a Dask collection",
    "device": "memory of a device",
}
_OUTPUTS = "ndarray of shape (n_samples,) or (n_samples, n_outputs)"
_NAMES = (
    "input_features : array-like of str or None, default=None\n"
    "    The names of the columns; None means those seen by ``fit``, or x0, x1..."
)
_TEXTS = "raw_documents : iterable\n    Texts, bytes, files or their names; each is read once."
# What the methods return, and the base of the classes whose methods are meant.
_RETURNS = {
    "fit": ("", _SELF),
    "partial_fit": ("", _SELF),
    "predict": ("", ""),
    "fit_predict": ("", ""),
    "predict_proba": ("ClassifierMixin", _PROBABILITIES),
    "predict_log_proba": ("ClassifierMixin", _PROBABILITIES),
    "decision_function": ("ClassifierMixin", "ndarray of shape (n_samples,) or (n_samples, n_classes)"),
    "transform": ("TransformerMixin", _OUTPUT_COLUMNS),
    "fit_transform": ("TransformerMixin", _OUTPUT_COLUMNS),
    "inverse_transform": ("", "ndarray of shape (n_samples, n_features)\n    Rows."),
    "score": ("", "float"),
    "score_samples": ("", "ndarray of shape (n_samples,)"),
    "get_feature_names_out": ("", "ndarray of str\n    The names of the columns of the result."),
}
# Texts of parameters that most classes have, for lines that state none.
SHARED = {
    "max_time": "Seconds after which the fit ends with what it has.",
    "n_jobs": "Threads; None means all cores. Changes no result.",
    "random_state": "The seed.",
    "verbose": "Whether to print a line for each step.",
}
# Arguments that mean the same in all methods.
_OTHERS = {"sample_weight": _WEIGHTS, "classes": _CLASSES, "input_features": _NAMES, "raw_documents": _TEXTS}
# Attributes that every fit stores, for docstrings that do not say more about them.
_RECORD = ("history_", "converged_", "n_iter_", "certificate_")
_COLUMNS = ("n_features_in_", "feature_names_in_")
# Columns of a text, without the indentation of its class.
_WIDTH = 116


def complete_methods(cls: Any) -> None:
    """Add what goes without saying to the docstrings of the methods that a class defines."""
    own = vars(cls)
    kinds: set[str] | None = None
    for name in _RETURNS.keys() & own.keys():
        # A method that some parameters switch off is behind a descriptor.
        method = own[name] if hasattr(own[name], "__code__") else getattr(own[name], "__wrapped__", None)
        # None has a docstring of its own, from Python 3.14 on.
        if method is None or (doc := method.__doc__) is None:
            continue
        kinds = {base.__name__ for base in cls.__mro__} if kinds is None else kinds
        method.__doc__ = _complete(doc, name, list_arguments(method), cls, kinds)


def _complete(doc: str, name: str, arguments: dict[str, bool], cls: Any, kinds: set[str]) -> str:
    """Return a docstring with the entries that it lacks, in the order of the signature, and with what is returned."""
    text = cleandoc(doc) if "\n" in doc else doc
    summary, *parts = _SECTION.split(text)
    sections = {title: body.strip("\n") for title, body in zip(parts[::2], parts[1::2])}
    written = _ENTRY.split(sections.pop("Parameters")) if "Parameters" in sections else []
    entries: dict[str, str] = {}
    for entry in written:
        for argument in entry.partition(" :")[0].split(","):
            entries[argument.strip(" *")] = entry
    for argument, required in arguments.items():
        if argument not in entries and (entry := describe_argument(argument, required, name, cls, kinds)):
            entries[argument] = entry
    order = {argument: place for place, argument in enumerate(arguments)}
    described = dict.fromkeys(entries[one] for one in sorted(entries, key=lambda one: order.get(one, len(order))))
    returned = sections.pop("Returns", "") or ("" if "Yields" in sections else describe_returned(name, cls, kinds))
    first = {"Parameters": "\n".join(described), "Returns": returned}
    return "\n\n".join(
        [
            summary.strip(),
            *(f"{title}\n{'-' * len(title)}\n{body}" for title, body in (first | sections).items() if body),
        ]
    )


def describe_argument(argument: str, required: bool, name: str, cls: Any, kinds: set[str]) -> str:
    """Return the entry of an argument of the method `name`, or nothing for one that is special."""
    if argument == "X":
        return _describe_rows(name, cls)
    if argument == "y":
        return _describe_targets(kinds, required)
    return _OTHERS.get(argument, "")


def list_arguments(method: Any) -> dict[str, bool]:
    """Return the names of a method's arguments, and whether each must be given."""
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    required = code.co_argcount - 1 - len(method.__defaults__ or ())
    return {name: place < required for place, name in enumerate(names)}


def _describe_rows(name: str, cls: Any) -> str:
    """Return the entry of `X`: the kinds and places of rows that the class declares, or its own text (`_row_text`)."""
    if name == "inverse_transform":
        text = "X : array-like of shape (n_samples, n_features_out)\n    Rows as :meth:`transform` returns them."
        return _fit_columns(text, cls)
    if own := getattr(cls, "_row_text", ""):
        return own
    kind = "{array-like, sparse matrix}" if getattr(cls, "_takes_sparse", False) else "array-like"
    # Where parameters decide, the class has a property, and a method that says nothing speaks of memory.
    places = getattr(cls, "_places", ())
    elsewhere = [text for place, text in _PLACES.items() if isinstance(places, tuple) and place in places]
    where = ""
    if elsewhere:
        named = " or ".join([", ".join(elsewhere[:-1]), elsewhere[-1]][len(elsewhere) < 2 :])
        where = f", or rows in {'any other place' if len(elsewhere) == len(_PLACES) else named}"
    gaps = "; NaN is a missing value" if getattr(cls, "_takes_gaps", False) else ""
    return f"X : {kind} of shape (n_samples, n_features){where}\n    Rows{gaps}."


def _describe_targets(kinds: set[str], required: bool) -> str:
    """Return the entry of `y`: labels, targets, or nothing."""
    shape = "(n_samples,) or (n_samples, n_outputs)" if "MultiOutputMixin" in kinds else "(n_samples,)"
    if "ClassifierMixin" in kinds:
        return f"y : array-like of shape {shape}\n    Labels."
    if "RegressorMixin" in kinds:
        return f"y : array-like of shape {shape}\n    Targets."
    return "" if required else "y : None\n    Ignored."


def describe_returned(name: str, cls: Any, kinds: set[str]) -> str:
    """Return what a method returns, if that goes without saying for such a class."""
    if name in ("predict", "fit_predict"):
        kind = next((kind for kind in _PREDICTIONS if kind in kinds), "")
        return _OUTPUTS if "MultiOutputMixin" in kinds else _PREDICTIONS.get(kind, "")
    base, text = _RETURNS[name]
    return _fit_columns(text, cls) if not base or base in kinds else ""


def _fit_columns(text: str, cls: Any) -> str:
    """Return a text in which the columns of the output have the name of the parameter that sets their number."""
    return text.replace("n_features_out", "n_components") if "n_components" in cls._parameters else text


def describe_parameter(name: str, rule: str, default: str | None, text: str) -> list[str]:
    """Return the lines about a parameter in a docstring: name, rule and default, and under them the folded text."""
    head = f"{name} : {rule}" if default is None else f"{name} : {rule}, default={default}"
    return [head, *("    " + line for part in text.split("\n") if part for line in _fold(part))]


def add_parameters(doc: str, entries: Iterable[list[str]]) -> str:
    """Return a docstring with a section of parameters before its first section; one that has it stays as it is."""
    lines = ["Parameters", "----------", *(line for entry in entries for line in entry)]
    place, indent = _find_first_section(doc)
    if doc.startswith("Parameters\n", place + len(indent)):
        return doc
    section = "".join(f"{indent}{line}\n" for line in lines)
    if place == len(doc):
        return f"{doc.rstrip()}\n\n{section}"
    return f"{doc[:place]}{section}\n{doc[place:]}"


def add_attributes(doc: str) -> str:
    """Return a docstring whose section of attributes, if it has one, names those that every fit stores."""
    heading = doc.find("Attributes\n")
    begin = doc.find("\n", doc.find("---", heading)) + 1
    if heading < 0 or begin <= 0:
        return doc
    indent = doc[doc.rfind("\n", 0, heading) + 1 : heading]
    next_place, _ = _find_first_section(doc[begin - 1 :])
    end = begin - 1 + next_place
    section = doc[begin:end].strip("\n").rstrip()
    for names, text in ((_RECORD, "How the fit went."), (_COLUMNS, "Number and names of the columns.")):
        if missing := [name for name in names if name not in section]:
            section += "\n" * bool(section) + f"{indent}{', '.join(missing)}\n{indent}    {text}"
    rest = doc[end:]
    return f"{doc[:begin]}{section}\n" + (f"\n{rest}" if rest.strip() else indent)


def _find_first_section(doc: str) -> tuple[int, str]:
    """Return where the line of the first heading begins, or the end of the text, and the text's indentation.

    Python 3.13 and later take the common indentation off when they compile a docstring, earlier versions do not.
    """
    place = doc.find("\n")
    while (place := doc.find("---", place + 1)) > 0:
        begin = doc.rfind("\n", 0, place) + 1
        indent = doc[begin:place]
        if not indent.strip() and doc[place : doc.find("\n", place)].strip("-") == "" and begin > 1:
            return doc.rfind("\n", 0, begin - 1) + 1, indent
    last = doc.rpartition("\n")[2]
    return len(doc), last if doc.count("\n") and not last.strip() else ""


def _fold(text: str) -> list[str]:
    """Return a text in lines of the width of a page; the lines of an item in a list stay below its first word."""
    hanging = "  " if text.startswith("- ") else ""
    lines, width = [], _WIDTH
    while len(text) > width:
        end = text.rfind(" ", 0, width + 1)
        if end <= 0:
            break
        lines.append(text[:end])
        text = hanging + text[end + 1 :]
    return [*lines, text]


def describe_default(value: Any, missing: Any) -> str | None:
    """Return a default as a docstring shows it; None for a parameter that must be given."""
    return None if value is missing else repr(value)
