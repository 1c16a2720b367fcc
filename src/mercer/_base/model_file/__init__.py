"""Model files: a documented, versioned, checksummed container of plain data that executes nothing when loaded."""

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from mercer._base.model_file import arrays, builtin, randomness, scikit  # noqa: F401 - each registers its types
from mercer._base.model_file.codec import Decoder, Encoder
from mercer._base.model_file.container import FORMAT, Limits, read_container, write_container
from mercer._base.model_file.migration import SCHEMA, migrate_header
from mercer._base.model_file.registry import import_family, key_of_class, key_of_record
from mercer._base.model_file.signature import Key, read_key
from mercer._base.model_placement import to_device
from mercer._version import __version__
from mercer.errors import ModelFileError, ParameterError

__all__ = ["load", "load_plain", "restore", "save", "save_plain"]

StrPath = str | os.PathLike[str]


def save(model: Any, path: StrPath, *, key: Key | None = None) -> None:
    """Write a model to a file that :func:`load` reads without executing anything.

    The file is a zip archive of a JSON header and raw arrays, each with its checksum; the page *Model files* documents
    it. It takes the place of an existing file in one step, when it is complete and on disk.

    Parameters
    ----------
    model : estimator or public record
        A mercer estimator, or one of the registered scikit-learn estimators that pipelines and searches are made of,
        fitted or not; or a model that is plain data, such as a density or a Bayesian network. Callbacks
        (``set_callbacks``) are not part of a model and are not written. A model on a device is written as its copy with
        NumPy arrays, and loaded so; :func:`mercer.to_device` brings it back.
    path : str or path-like
        The file to write.
    key : bytes, str or path-like, default=None
        A secret of at least 16 bytes, or the file that holds it, to sign the model with (HMAC-SHA256); a reader who has
        the key can tell that you wrote the file. The page *Security* says how to make one.

    Raises
    ------
    ModelFileError
        If the model holds something other than plain data and registered objects, such as a function of yours; the
        message says where.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import mercer
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[1.0], [3.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(scaler, pathlib.Path(folder, "scaler.mercer"))
    ...     again = mercer.load(pathlib.Path(folder, "scaler.mercer"))
    >>> again.transform([[5.0]])
    array([[3.]])
    """
    secret = None if key is None else read_key(key, "save")
    if key_of_record(type(model)) is not None:
        _write(model, path, type(model).__name__, secret)
        return
    if not isinstance(model, BaseEstimator) or key_of_class(type(model)) is None:
        raise ModelFileError(
            f"save: model must be an estimator of mercer or a registered one of scikit-learn; got "
            f"{type(model).__module__}.{type(model).__qualname__}. Pickle it if you trust every reader."
        )
    # A file has arrays of the host only; the model is loaded there and can be moved afterwards.
    _write(to_device(model, "cpu"), path, type(model).__name__, secret)


def load(
    path: StrPath, *, mmap_mode: Literal["r"] | None = None, key: Key | None = None, max_bytes: int | None = None
) -> Any:
    """Read a model that :func:`save` wrote.

    Loading imports and runs nothing that the file names: classes come from a closed registry, and objects are given
    their attributes without calling them, once those agree with what the class declares. The file may come from
    anywhere.

    Parameters
    ----------
    path : str or path-like
        The file to read.
    mmap_mode : {None, "r"}
        ``"r"`` maps the arrays instead of reading them: they are read-only, and processes that load the same file share
        the memory. The checksums are verified all the same, and the file must then stay as it is: where another
        program shortens it, the system ends this one (SIGBUS).
    key : bytes, str or path-like, default=None
        The secret, or the file that holds it, that the model must be signed with. By default signatures are not
        verified.
    max_bytes : int, default=None
        The largest file that is read. Nothing in a file is compressed, so a model takes little more memory than its
        file.

    Returns
    -------
    estimator or record
        A model equal to the one saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, hostile, or of a newer version; if its signature is not that of `key`; or if it is
        larger than `max_bytes`.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import mercer
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(MinMaxScaler().fit([[0.0], [4.0]]), pathlib.Path(folder, "scaler.mercer"))
    ...     mercer.load(pathlib.Path(folder, "scaler.mercer")).transform([[1.0]])
    array([[0.25]])
    """
    if mmap_mode not in (None, "r"):
        raise ParameterError(f"load: mmap_mode must be None or 'r'; got {mmap_mode!r}.")
    if max_bytes is not None and (not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or max_bytes < 0):
        raise ParameterError(f"load: max_bytes must be None or an integer in [0, inf); got {max_bytes!r}.")
    secret = None if key is None else read_key(key, "load")
    model = _read(path, Limits(mmap_mode == "r", secret, max_bytes))
    if not isinstance(model, BaseEstimator) and key_of_record(type(model)) is None:
        raise ModelFileError(
            f"load: {os.fspath(path)}: a model must be an estimator; the file holds {type(model).__name__}."
        )
    return model


def save_plain(value: Any, path: StrPath) -> None:
    """Write any plain data, such as a solver's state, in the same container."""
    _write(value, path, "value")


def load_plain(path: StrPath) -> Any:
    """Read what :func:`save_plain` wrote."""
    return _read(path, Limits())


def _write(value: Any, path: StrPath, name: str, secret: bytes | None = None) -> None:
    encoder = Encoder()
    node = encoder.encode(value, name)
    write_container(Path(path), _describe_file(value, node), encoder.arrays, secret)


def _describe_file(value: Any, node: Any) -> dict[str, Any]:
    """Return the header of a file of `value`, whose node is given."""
    versions = {
        "mercer": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    key = key_of_class(type(value)) or key_of_record(type(value))
    return {"format": FORMAT, "schema": SCHEMA, "written_by": versions, "class": key, "model": node}


def _read(path: StrPath, limits: Limits) -> Any:
    try:
        header, reader = read_container(Path(path), limits)
        with reader:
            return restore(header, reader.read_all)
    except ModelFileError as error:
        raise ModelFileError(f"load: {os.fspath(path)}: {error}") from error.__cause__
    except OSError:
        raise
    except Exception as error:
        # A hostile file can put any plain value anywhere; what NumPy, SciPy or scikit-learn says to it is not a crash.
        raise ModelFileError(
            f"load: {os.fspath(path)}: its values do not fit together ({type(error).__name__}: {str(error)[:200]})."
        ) from error


def restore(header: dict[str, Any], read_arrays: Callable[[Any], list[np.ndarray[Any, Any]]]) -> Any:
    """Return what a header describes; `read_arrays` returns the arrays of the entries that the header lists.

    The fuzzer calls it with arrays of its own, which saves it the file: 10 000 forgeries then take seconds.
    """
    header = migrate_header(header)
    if header.keys() != {"format", "schema", "written_by", "class", "model", "arrays"}:
        raise ModelFileError(f"the header must have the documented fields; it has {str(sorted(header))[:200]}.")
    import_family(header["class"])
    value = Decoder(read_arrays(header["arrays"])).decode(header["model"])
    # Readers of the header alone trust its class, so it must be that of the model.
    if header["class"] != (key_of_class(type(value)) or key_of_record(type(value))):
        raise ModelFileError(f"the header says that it holds {str(header['class'])[:80]!r}; it holds another class.")
    return value
