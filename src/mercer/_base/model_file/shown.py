"""What a notebook shows of a loaded model: names of parts and of columns, which a file must not turn into a weapon.

scikit-learn's table of parameters puts ``name__parameter`` between the quotes of a script, and searches documentation
for it as a regular expression. So a quote in a name would run what follows it when somebody presses the button beside
it, and repeated groups would search for ever. It also lists a name for each column that a transformer gives.
"""

import re
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer.errors import ModelFileError

# Parameters that are lists of (name, part, ...).
_LISTS = ("estimators", "steps", "transformers", "transformer_list")
# Lists that hold nothing but such tuples, whatever the class.
_STRICT = ("steps", "transformers", "transformer_list")
# Columns for which names are made in less than a second, whatever else a file holds.
_FEW_COLUMNS = 2**20
# Characters of a name: far more than a table of parameters shows.
_LONGEST = 200
# Letters, digits and signs that are neither quotes nor markup. A plus repeats the letter before it and nothing longer.
_HARMLESS = re.compile(r"(?:[\w ,.:;=/@#%&~!$^|()-]|(?<=[\w ])\+)*")


def check_part_names(attributes: dict[str, Any], where: str) -> None:
    """Raise ModelFileError if the name of a part could be more than text in a notebook, or a part is none."""
    for parameter in _LISTS:
        pairs = attributes.get(parameter)
        if type(pairs) is not list and type(pairs) is not tuple:
            continue
        for pair in pairs:
            if parameter in _STRICT and not _is_named(pair):
                raise ModelFileError(
                    f"{where}.{parameter}: each part must come after its name; got {str(pair)[:40]!r}."
                )
            name = pair[0] if isinstance(pair, tuple | list) and pair else None
            if isinstance(name, str) and not _is_harmless(name):
                raise ModelFileError(
                    f"{where}.{parameter}: the name of a part must have at most {_LONGEST} letters, digits, spaces and "
                    f"signs such as - . : = ( ), without quotes, brackets, repetitions; got {name[:40]!r}. Rename it."
                )
            if isinstance(pair, tuple | list) and len(pair) > 1 and not _is_part(pair[1]):
                raise ModelFileError(
                    f"{where}.{parameter}: a part must be an estimator, a word such as 'drop', or None; got "
                    f"{type(pair[1]).__name__}."
                )


def check_column_counts(model: Any, where: str) -> None:
    """Raise ModelFileError if a model names more columns than anything in it has: a notebook would list them."""
    for name in ("n_features_in_", "_n_features_out"):
        count = vars(model).get(name)
        if isinstance(count, int | float | np.number) and count > _FEW_COLUMNS and count not in _list_sizes(model):
            raise ModelFileError(f"{where}.{name} must be the length of one of its arrays; got {str(count)[:40]}.")


def _list_sizes(model: Any) -> set[Any]:
    """Return the lengths of all arrays of a model, and the columns of its parts, which were checked before."""
    sizes: set[Any] = set()
    values = list(vars(model).values())
    while values:
        value = values.pop()
        if isinstance(value, np.ndarray) or issparse(value):
            sizes.update(value.shape)
        elif isinstance(value, list | tuple):
            values.extend(value)
        elif hasattr(value, "n_features_in_"):
            sizes.add(value.n_features_in_)
    return sizes


def _is_named(pair: Any) -> bool:
    return isinstance(pair, tuple | list) and len(pair) > 1 and isinstance(pair[0], str)


def _is_part(value: Any) -> bool:
    return value is None or isinstance(value, str) or hasattr(value, "get_params")


def _is_harmless(name: str) -> bool:
    if len(name) > _LONGEST or not _HARMLESS.fullmatch(name):
        return False
    try:
        re.compile(name)
    except re.error:
        # Such as a parenthesis that is not closed.
        return False
    return True
