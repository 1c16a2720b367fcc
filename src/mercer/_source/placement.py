"""The library and the device of arrays: where rows, sums and models are."""

from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._source.namespace import DEVICE_LIBRARIES, library_of, namespace_of, to_numpy
from mercer._types import Array
from mercer.errors import ParameterError


def is_on_device(thing: Any) -> bool:
    """Return whether `thing` is an array of a library whose arrays live on devices, the CPU among them."""
    return library_of(thing) in DEVICE_LIBRARIES and hasattr(thing, "dtype") and hasattr(thing, "shape")


@dataclass(frozen=True)
class Placement:
    """A library and one of its devices.

    Parameters
    ----------
    library : str
        ``"numpy"``, ``"torch"``, ``"cupy"`` or ``"array_api_strict"``.
    device : object
        As the library names it; None for NumPy.
    """

    library: str
    device: Any = None

    @classmethod
    def of(cls, array: Array) -> "Placement":
        """Return where `array` is; what belongs to no device library counts as NumPy's."""
        return cls(library_of(array), array.device) if is_on_device(array) else HOST

    @classmethod
    def parse(cls, name: Any) -> "Placement":
        """Return the placement that a user names: ``"cpu"``, ``"cuda:1"``, ``"torch:cpu"``, ``"cupy"``, or an array."""
        if not isinstance(name, str):
            return cls._find(name)
        # "cuda:1" begins with a device of torch and "torch:cpu" with a library; only cupy and torch are libraries.
        library, _, device = name.partition(":")
        if name in ("cpu", "numpy"):
            return HOST
        if library == "cupy":
            import cupy

            return cls("cupy", cupy.cuda.Device(int(device or 0)))
        import torch

        try:
            return cls("torch", _resolve_device(torch, device if library == "torch" else name))
        except RuntimeError as error:
            raise ParameterError(
                f"to_device: device must be 'cpu' (NumPy), a torch device such as 'cuda', 'cuda:1', 'mps' or "
                f"'torch:cpu', 'cupy', or an array; got {name!r}. torch says: {str(error)[:200]}"
            ) from error

    @classmethod
    def _find(cls, array: Any) -> "Placement":
        """Return the placement of an array that stands for it; raise for anything else."""
        if is_on_device(array) or isinstance(array, np.ndarray):
            return cls.of(array)
        raise ParameterError(f"to_device: device must be a name such as 'cpu' or 'cuda:0', or an array; got {array!r}.")

    def __str__(self) -> str:
        if self.library == "numpy":
            return "cpu (numpy)"
        if self.library == "cupy":
            return f"cuda:{self.device.id} (cupy)"
        return f"{getattr(self.device, '_device', self.device)} ({self.library})"

    @cached_property
    def xp(self) -> Any:
        """The array-API namespace."""
        if self.library == "numpy":
            return np
        module = __import__(self.library)
        return namespace_of(module.asarray([0.0], dtype=module.float32))

    @cached_property
    def wide(self) -> Any:
        """The widest real type: float64 wherever the device has it, else float32."""
        # Some devices, such as Apple's GPUs, have no float64; an attempt is the only portable test.
        try:
            self.xp.zeros(1, dtype=self.xp.float64, device=self.device)
        except (TypeError, ValueError, RuntimeError):
            return self.xp.float32
        return self.xp.float64

    @property
    def is_narrow(self) -> bool:
        """Whether the device has no float64."""
        return self.wide != self.xp.float64

    def put(self, array: Array) -> Array:
        """Return the values of `array` here, in the same type; float64 becomes the widest type of the device."""
        if Placement.of(array) == self:
            return array
        array = to_numpy(array)
        if self.library == "numpy":
            return array
        if self.is_narrow and array.dtype == np.float64:
            array = array.astype(np.float32)
        # A copy: torch would share the memory of NumPy's array, and refuse one that is read-only.
        return self.xp.asarray(array.copy(), device=self.device)


HOST = Placement("numpy")


def _resolve_device(torch: Any, name: str) -> Any:
    """Return a torch device as its arrays name it: ``cuda`` becomes the current one, such as ``cuda:0``."""
    return torch.empty(0, device=torch.device(name)).device


def change_arrays(thing: Any, change: Any) -> Any:
    """Apply `change` to each array in a record, tuple or array; return the same object if nothing changes."""
    if isinstance(thing, np.ndarray) or is_on_device(thing):
        return change(thing)
    if type(thing) is tuple:
        parts = tuple(change_arrays(part, change) for part in thing)
        # The same object comes back where nothing changed, so moving a model to where it is copies nothing.
        return parts if any(new is not old for new, old in zip(parts, thing, strict=True)) else thing
    if is_dataclass(thing) and not isinstance(thing, type):
        changed = {}
        for part in fields(thing):
            old = getattr(thing, part.name)
            new = change_arrays(old, change)
            if new is not old:
                changed[part.name] = new
        return replace(thing, **changed) if changed else thing
    return thing
