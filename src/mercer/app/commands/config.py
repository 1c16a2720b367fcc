"""Options from a TOML file, under the names that ``mercer.run`` takes."""

import tomllib
from pathlib import Path
from typing import Any

from mercer.app.options import OPTIONS, OUTPUT, convert_options
from mercer.errors import DataError


def read_config(path: str) -> dict[str, Any]:
    """Return the options in a TOML file, each checked; a name may be written with dashes or underscores."""
    place = Path(path).expanduser()
    try:
        content = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Give --config the path of a TOML file.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: not a TOML file ({error}). Write each option as name = value, and put texts in quotes."
        ) from None
    given = {name.replace("-", "_"): value for name, value in content.items()}
    return convert_options(given, (*OPTIONS, OUTPUT), subject=path, error=DataError)
