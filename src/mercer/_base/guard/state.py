"""Check the state of a model before it answers, where no fit and no file has made it: assignments, pickles and copies.

Native code trusts the arrays of a fitted model. A fit makes sound ones and a file is checked when it is loaded. Both
note the values of all attributes. Before an answer the attributes are compared with what was noted, by identity: that
takes some 0.2 microseconds. Where one was assigned since, or where nothing was noted, as in a model that a pickle
restores, the state is compared with the declarations of its class, as that of a file is.
"""

import operator
from typing import Any, ClassVar

from mercer._base.guard.fits import is_inside_fit
from mercer._base.guard.soundness import check_parts, check_state
from mercer._native.shared import same_values
from mercer.errors import MercerError, ModelFileError

# What scikit-learn's callbacks set on an instance, and remove after a fit has ended.
_PASSING = frozenset({"_skl_callbacks", "_parent_callback_ctx", "_callback_fit_ctx", "_skl_callbacks_to_teardown"})


class Noted:
    """Gives instances a place for what was noted, which is no attribute: it is not copied, pickled or compared."""

    __slots__ = ("_noted",)

    _noted: list[Any]
    # Whether the class itself checks attributes that a user assigns, whenever it uses them.
    _checks_assigned: ClassVar[bool] = False


# scikit-learn refuses to pickle instances of classes that show slots. This one is not to be pickled at all.
del Noted.__slots__


def note_state(model: Any) -> None:
    """Remember that the attributes of a model are sound as they are."""
    model._noted = _list_values(model)


def _list_values(model: Any) -> list[Any]:
    """Return the values of a model's attributes, without those that callbacks leave for a while."""
    return [value for name, value in vars(model).items() if name not in _PASSING]


def ensure_noted(model: Any) -> None:
    """Raise ModelFileError if attributes were assigned, since the last fit or answer, that do not fit together."""
    try:
        if same_values.are_same(model.__dict__, model._noted):
            return
        values, noted = _list_values(model), model._noted
        if len(values) == len(noted) and all(map(operator.is_, values, noted)):
            return
    except AttributeError:
        # Nothing was noted yet.
        pass
    # A fit asks models whose state is not complete. Arrays on a device are not read by native code. Some models are
    # meant to be made by hand, and check their parameters themselves before each answer.
    if is_inside_fit() or "_placement" in model.__dict__ or model._checks_assigned:
        return
    _check(model)
    note_state(model)


def _check(model: Any) -> None:
    """Raise ModelFileError if what a model holds is not what its class declares."""
    try:
        check_parts(vars(model).values())
        check_state(model)
    except MercerError as error:
        rule = str(error).replace("the file", "this model")
        raise ModelFileError(f"{rule} It was assigned or unpickled: fit the model again.") from None
    except Exception as error:
        raise ModelFileError(
            f"{type(model).__name__}: attributes that were assigned or unpickled do not fit together "
            f"({type(error).__name__}: {str(error)[:200]}). Fit the model again."
        ) from error
