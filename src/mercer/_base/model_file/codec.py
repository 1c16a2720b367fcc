"""From objects to JSON nodes and back.

None, truth values, text, integers of up to 53 bits and lists stand for themselves. Everything else is a *node*: an
object with a ``type`` and the fields of that type. The modules beside this one say how each type is written and read,
with :func:`encodes` and :func:`decodes`; this one walks, and guards the walk: no cycles, no depth, no stranger.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from mercer.errors import ModelFileError

MAX_DEPTH = 100  # levels of values; three Python frames a level stay far below the interpreter's limit
# Values of a file with every reference replaced by what it refers to: parts that share parts are small in the file and
# in memory, but code that walks them (repr, hash, comparison) meets each as often as it is referred to.
MAX_UNFOLDED = 2**24
MAX_EXACT = 2**53  # the largest integers that every JSON reader keeps


Node = Any
Write = Callable[[Any, "Encoder", str], Node]
Read = Callable[[dict[str, Any], "Decoder"], Any]
Function = TypeVar("Function", bound=Callable[..., Any])

_WRITE: dict[type, Write] = {}
_WRITE_WHERE: list[tuple[Callable[[Any], bool], Write]] = []
_READ: dict[str, tuple[frozenset[str], Read]] = {}
# For nodes of a type that is not registered.
_UNKNOWN: tuple[frozenset[str], None] = (frozenset(), None)


def encodes(*types: type) -> Callable[[Function], Function]:
    """Register how objects of exactly these types become nodes."""

    def register(write: Function) -> Function:
        _WRITE.update(dict.fromkeys(types, write))
        return write

    return register


def encodes_where(accepts: Callable[[Any], bool]) -> Callable[[Function], Function]:
    """Register how objects that `accepts` says yes to become nodes, in the order of registration."""

    def register(write: Function) -> Function:
        _WRITE_WHERE.append((accepts, write))
        return write

    return register


def decodes(kind: str, *fields: str) -> Callable[[Function], Function]:
    """Register how nodes of this type, with exactly these fields, become objects."""

    def register(read: Function) -> Function:
        _READ[kind] = (frozenset(("type", *fields)), read)
        return read

    return register


class Encoder:
    """Turns one object into a node, and collects the arrays it holds."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self._array_index: dict[tuple[Any, ...], int] = {}
        self._shared: dict[int, int] = {}
        self._open: set[int] = set()
        self._alive: list[Any] = []  # numbered objects are kept alive, since Python reuses the id of a deleted object

    def encode(self, value: Any, path: str) -> Node:
        """Return the node of `value`; `path` says where it was found, for the refusal."""
        kind = type(value)
        # JSON readers may hold numbers as doubles, which are exact up to 2^53 only;
        # larger integers get a node of their own.
        if value is None or kind is bool or kind is str or (kind is int and abs(value) <= MAX_EXACT):
            return value
        write = _WRITE.get(kind) or next((write for accepts, write in _WRITE_WHERE if accepts(value)), None)
        if write is None:
            raise refusal(value, path)
        # The set holds the identities on the path from the root to here, so one object in two places is no cycle.
        if id(value) in self._open:
            raise ModelFileError(
                f"save: {path} refers to something that contains it; model files hold trees. Break the cycle."
            )
        if len(self._open) == MAX_DEPTH:
            raise ModelFileError(f"save: values may be nested {MAX_DEPTH} levels deep; {path[:200]} is deeper.")
        self._open.add(id(value))
        try:
            return write(value, self, path)
        finally:
            self._open.remove(id(value))

    def encode_all(self, values: Iterable[Any], path: str) -> list[Node]:
        """Return the nodes of several values."""
        return [self.encode(value, f"{path}[{position}]") for position, value in enumerate(values)]

    def array(self, array: np.ndarray[Any, Any]) -> Node:
        """Return the node of an array; an array and whole views of it are stored once."""
        key = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
        index = self._array_index.get(key)
        if index is None:
            index = self._array_index[key] = len(self.arrays)
            self.arrays.append(array)
        return {"type": "array", "index": index}

    def share(self, value: Any, write: Callable[[], dict[str, Any]]) -> Node:
        """Return the node of an object with an identity: written the first time, a reference afterwards."""
        if id(value) in self._shared:
            return {"type": "same", "id": self._shared[id(value)]}
        number = self._shared[id(value)] = len(self._shared)
        self._alive.append(value)
        return {**write(), "id": number}


def refusal(value: Any, path: str, rule: str = "model files hold plain data only", cure: str = "") -> ModelFileError:
    """Return the error for something that a model file cannot hold."""
    name = getattr(value, "__name__", None) if callable(value) else None
    what = f"a {type(value).__name__} ({name})" if name else f"of class {type(value).__module__}.{type(value).__name__}"
    cure = cure or "Use a registered transformer, or pickle if you trust every reader"
    return ModelFileError(f"save: {path} is {what}; {rule}. {cure}.")


class Decoder:
    """Turns a node into an object.

    Parameters
    ----------
    arrays : list of ndarray
        The arrays that nodes refer to by index.
    """

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        # NumPy refuses to resize views, and native code relies on shapes that were checked.
        self.arrays = [array.view() for array in arrays]
        self._depth = 0
        # Complete objects by number, each with its size as unfolded; and the size of all that was decoded so far.
        self._shared: dict[int, tuple[Any, int]] = {}
        self._unfolded = 0
        # A reference takes few bytes in the file, but decoding it may copy: the total of decoded bytes is bounded.
        self._budget = 2**26 + 16 * sum(array.nbytes for array in arrays)

    def decode(self, node: Node) -> Any:
        """Return the object of a node."""
        # JSON has no other types that hold values.
        kind = type(node)
        self._unfolded += 1
        if kind is not dict and kind is not list:
            return node
        if self._depth == MAX_DEPTH:
            raise ModelFileError(f"values may be nested {MAX_DEPTH} levels deep; the header nests more.")
        self._depth += 1
        value = [self.decode(item) for item in node] if kind is list else self._read(node)
        self._depth -= 1
        return value

    def _read(self, node: dict[str, Any]) -> Any:
        kind = node.get("type")
        fields, read = _READ.get(kind, _UNKNOWN) if isinstance(kind, str) else _UNKNOWN
        # Most nodes have exactly the fields of their type; an identity may come on top.
        if read is None or (node.keys() != fields and ("id" in fields or node.keys() - {"id"} != fields)):
            raise ModelFileError(
                f"the header holds a node of unknown type or fields: {str(kind)[:40]!r}, {str(list(node))[:120]}."
            )
        before = self._unfolded
        value = read(node, self)
        # A node may have an identity although its type does not ask for one:
        # then other nodes refer to it by that number.
        if "id" in node and "id" not in fields:
            number = integer(node["id"], 0, MAX_EXACT)
            if number in self._shared:
                raise ModelFileError(f"identities must be unique; {number} comes twice.")
            self._shared[number] = value, self._unfolded - before
        return value

    def same(self, number: Any) -> Any:
        """Return the complete object that was given this number earlier."""
        if type(number) is not int or number not in self._shared:
            raise ModelFileError(f"a reference must name an object that is complete; {str(number)[:20]} is not.")
        value, size = self._shared[number]
        self._unfolded += size
        if self._unfolded > MAX_UNFOLDED:
            raise ModelFileError(
                f"its values share parts so that they unfold to more than {MAX_UNFOLDED}; the file is hostile."
            )
        return value

    def decode_as(self, node: Node, *types: type) -> Any:
        """Return the object of a node, which must be of one of these types."""
        value = self.decode(node)
        if type(value) not in types:
            raise ModelFileError(
                f"the header must hold {' or '.join(kind.__name__ for kind in types)} here; it holds {type(value)}."
            )
        return value

    def decode_all(self, nodes: Any) -> list[Any]:
        """Return the objects of a JSON list of nodes."""
        if not isinstance(nodes, list):
            raise ModelFileError(f"the header must hold a list here; it holds {type(nodes).__name__}.")
        return [self.decode(node) for node in nodes]

    def charge(self, cost: int) -> None:
        """Count the memory that a small node makes the reader take; raise above the limit."""
        self._budget -= cost
        if self._budget < 0:
            raise ModelFileError("its nodes would take far more memory than its arrays; the file is hostile.")


def integer(value: Any, low: int, high: int) -> int:
    """Check that a number from the header is an integer in [low, high]."""
    if type(value) is not int or not low <= value <= high:
        raise ModelFileError(f"the header must hold an integer in [{low}, {high}] here; it holds {str(value)[:40]}.")
    return value


def check_keys(keys: list[Any]) -> None:
    """Check that keys of a dictionary, or elements of a set, are distinct and do not collide on purpose.

    Hashes of numbers and tuples are known to an enemy, and a dictionary of n colliding keys takes n^2 steps to build.
    """
    try:
        hashes = Counter(map(hash, keys))
    except TypeError as error:
        raise ModelFileError(f"keys must be hashable; {error}.") from error
    # 64 leaves honest files alone and bounds the steps to build the dictionary at 64 n.
    if max(hashes.values(), default=0) > 64:
        raise ModelFileError("more than 64 keys share one hash; the file is hostile.")


@decodes("same", "id")
def _read_same(node: dict[str, Any], decoder: Decoder) -> Any:
    return decoder.same(node["id"])
