"""The names of parts, such as the steps of a pipeline: text of a file that must not become a program in a notebook.

scikit-learn's table of parameters puts ``name__parameter`` between the quotes of a script, and searches documentation
for it as a regular expression. So a quote in a name would run what follows it when somebody presses the button beside
it, and repeated groups would search for ever.
"""

import re
from typing import Any

from mercer.errors import ModelFileError

__all__ = ["check_part_names"]

# Parameters that are lists of (name, part, ...).
_LISTS = ("estimators", "steps", "transformers", "transformer_list")
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
            name = pair[0] if isinstance(pair, tuple | list) and pair else None
            if isinstance(name, str) and not _is_harmless(name):
                message = (
                    f"{where}.{parameter}: the name of a part must have at most {_LONGEST} letters, digits, spaces and "
                    f"signs such as - . : = ( ), without quotes, brackets, repetitions; got {name[:40]!r}. Rename it."
                )
                raise ModelFileError(message)
            if isinstance(pair, tuple | list) and len(pair) > 1 and not _is_part(pair[1]):
                message = (
                    f"{where}.{parameter}: a part must be an estimator, a word such as 'drop', or None; got "
                    f"{type(pair[1]).__name__}."
                )
                raise ModelFileError(message)


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
