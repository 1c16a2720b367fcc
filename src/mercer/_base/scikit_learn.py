"""scikit-learn's private names that mercer needs, what each is needed for, and its tags with the places of rows.

scikit-learn may rename them in any version. Nothing else in mercer spells one, and ``tests/base/test_scikit_learn.py``
names what breaks where one has changed.
"""

from dataclasses import dataclass, fields
from inspect import signature
from types import SimpleNamespace
from typing import Any, ClassVar

from sklearn.utils import Tags

from mercer._base.interface import BaseEstimator

# The callbacks that ``set_callbacks`` leaves on an instance.
_CALLBACKS = "_skl_callbacks"
# What a fit with callbacks leaves on the instance until scikit-learn has torn them down: that is after an error has
# passed through the fit, so these survive when its attributes are restored.
TEARDOWN = frozenset({"_callback_fit_ctx", "_skl_callbacks_to_teardown"})
# All that callbacks leave: they follow one fit on one machine and are no part of a model.
CALLBACK_MARKS = TEARDOWN | {_CALLBACKS, "_parent_callback_ctx"}
# What ``set_fit_request`` and the like leave on an instance or a scorer.
REQUESTS = "_metadata_request"
# What ``set_output`` leaves on an instance.
OUTPUT_CONFIG = "_sklearn_output_config"
# What ``clone`` hands on beside the parameters, if an instance has it.
CLONED = frozenset({_CALLBACKS, REQUESTS, OUTPUT_CONFIG})
# How that begins which it keeps on an object beside its parameters.
BESIDE = (REQUESTS, "_sklearn_", "_skl_", "_parent_callback_ctx")
# Where a pickled state names the version that wrote it.
VERSION = "_sklearn_version"
# How the attributes begin that the representation in notebooks reads.
SHOWN = ("_doc_link", "_repr", "_html", "_estimator_type")


def callbacks_of(estimator: Any) -> list[Any]:
    """Return the callbacks that ``set_callbacks`` gave an estimator."""
    # Parameters and callbacks are attributes of the instance: a look at others would go through all base classes.
    return vars(estimator).get(_CALLBACKS, [])


def drop_callbacks(estimator: Any) -> None:
    """Take away the callbacks of an estimator."""
    vars(estimator).pop(_CALLBACKS, None)


def copy_without_callbacks(estimator: Any) -> Any:
    """Return a shallow copy of an estimator without its callbacks: they follow fits, and need not travel."""
    copied = object.__new__(type(estimator))
    # The attributes are those of a sound model, so that they are not checked as a pickle's are.
    vars(copied).update(vars(estimator))
    drop_callbacks(copied)
    return copied


def open_callback_context(estimator: Any, max_subtasks: int | None) -> Any:
    """Set up the callbacks of an estimator, and return the root of the tasks that its fit reports."""
    return estimator._init_callback_context(max_subtasks=max_subtasks)


def add_requests(estimator: Any, method: str, given: dict[str, Any]) -> None:
    """Do what ``set_fit_request`` and the like do, for a method of an estimator or a scorer.

    They need another configuration of scikit-learn, which Ctrl-C could leave behind. Metadata that the method does not
    take is a ValueError.
    """
    told = estimator._get_metadata_request()
    asked = getattr(told, method)
    if not given.keys() <= asked.requests.keys():
        unknown = str(min(given.keys() - asked.requests.keys(), key=str))[:40]
        raise ValueError(f"{type(estimator).__name__}.{method} takes no metadata {unknown!r}")
    for name, alias in given.items():
        asked.add_request(param=name, alias=alias)
    setattr(estimator, REQUESTS, told)


def copy_requests(source: Any, target: Any) -> None:
    """Give an estimator the requests for metadata that another one of the same kind has, where it takes them."""
    told, known = source._get_metadata_request(), target._get_metadata_request()
    for method, asked in vars(told).items():
        taken = getattr(getattr(known, method, None), "requests", {})
        given = {name: alias for name, alias in getattr(asked, "requests", {}).items() if name in taken}
        if given:
            add_requests(target, method, given)


def list_parameters(cls: Any) -> list[str]:
    """Return the names of the parameters of a class."""
    return cls._get_param_names()


def takes_weight(scorer: Any) -> bool:
    """Return whether a scorer of scikit-learn's, or a function that scores a model, takes ``sample_weight``."""
    accepts = getattr(scorer, "_accept_sample_weight", None)
    return bool(accepts() if accepts is not None else "sample_weight" in signature(scorer).parameters)


def read_boosting(model: Any) -> tuple[list[list[Any]], Any] | None:
    """Return the nodes of the trees of scikit-learn's histogram boosting by round, and the score that they start from.

    None where the model is no such thing, or keeps them in another form.
    """
    rounds, start = getattr(model, "_predictors", None), getattr(model, "_baseline_prediction", None)
    if not isinstance(rounds, list) or not rounds or start is None:
        return None
    try:
        return [[tree.nodes for tree in trees] for trees in rounds], start
    except (AttributeError, TypeError):
        return None


class NamedParameters(BaseEstimator):
    """scikit-learn's base class, with names of parameters that are read once, and a quick table for notebooks."""

    # The names of the parameters, once the constructor's signature has been read.
    _parameter_names: ClassVar[tuple[str, ...]]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, read off the constructor once for each class.

        scikit-learn reads the signature in every ``get_params``, ``set_params`` and ``clone``: a third of their time.
        """
        if "_parameter_names" not in vars(cls):
            cls._parameter_names = tuple(super()._get_param_names())
        return list(cls._parameter_names)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return scikit-learn's table of fitted attributes for a notebook, with what is stored alone.

        scikit-learn asks all properties too, and those that compute take time and memory that nobody asked for: the
        rows of every tree of a forest, and in a forged file as many as it likes.
        """
        table = BaseEstimator._get_fitted_attr_html(SimpleNamespace(**vars(self)), doc_link)
        table.estimator_class = type(self)
        return table


@dataclass
class PlacedTags(Tags):
    """Tags that also say where the rows may be that an estimator is fitted to, as they are read.

    ``needs_rows`` says why rows of other places than these are brought to memory first; empty where they are refused.
    """

    places: tuple[str, ...] = ("memory",)
    needs_rows: str = ""


def add_places(tags: Any, places: tuple[str, ...], needs_rows: str = "") -> PlacedTags:
    """Return the tags with `places` and `needs_rows` added."""
    parts = {part.name: getattr(tags, part.name) for part in fields(tags)}
    return PlacedTags(**parts | {"array_api_support": "device" in places}, places=places, needs_rows=needs_rows)


class BoostedRecords:
    """What scikit-learn's histogram boosting predicts from, for tools such as shap that read it there."""

    @property
    def _baseline_prediction(self: Any) -> Any:
        return self._baseline.reshape(1, -1)

    @property
    def _predictors(self: Any) -> list[list[Any]]:
        return self._list_records()


def fill_boosting(made: Any, rounds: list[list[Any]], baseline: Any) -> None:
    """Give a fitted histogram boosting of scikit-learn the nodes of other trees, and other scores to start from."""
    known = made._predictors[0][0]
    # Trees without categories have no sets of them.
    sets, kind = known.raw_left_cat_bitsets[:0], known.nodes.dtype
    made._predictors = [[type(known)(tree.nodes.astype(kind), sets, sets) for tree in trees] for trees in rounds]
    made._baseline_prediction = baseline
