"""Programs in CUDA C, compiled when they are first used, for arrays of torch and CuPy.

NVIDIA's runtime compiler, which torch and CuPy bring with them, turns a ``.cu`` file of this package into machine code
for the GPU at hand, in some tenths of a second, once per process; the driver runs it in the stream of the library whose
arrays it gets. Where either is missing, or the GPU is older than what the code needs, :func:`cuda_program` returns None
and its caller uses array operations instead.
"""

import ctypes
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mercer._types import Array

# Numbers that CUDA's header gives to attributes of a device: the two parts of its compute capability.
_MAJOR = 75
_MINOR = 76
# The number of the attribute of a function that sets the bytes of dynamic shared memory it may use.
_SHARED = 8
# Bytes of shared memory that a function may use without setting that attribute.
_UNASKED = 48 * 1024


class CudaError(RuntimeError):
    """An error of the CUDA compiler or driver."""


def _check_result(result: int, who: str, library: Any, name: str) -> None:
    """Raise `CudaError` with the library's own text if a call returned an error."""
    if result:
        text = ctypes.c_char_p()
        given = getattr(library, name)
        # NVRTC returns the text of an error; the driver writes its address to a pointer that is passed.
        if name.startswith("nvrtc"):
            given.restype = ctypes.c_char_p
            said = given(result)
        else:
            given(result, ctypes.byref(text))
            said = text.value
        raise CudaError(f"{who}: error {result}, {(said or b'unknown').decode()}.")


@cache
def _driver() -> Any:
    """Load and initialise the CUDA driver."""
    library = ctypes.CDLL("libcuda.so.1")
    _check_result(library.cuInit(0), "CUDA driver", library, "cuGetErrorString")
    return library


@cache
def _compiler() -> Any:
    """Load the runtime compiler: one on the library path, or one in the packages that come with torch."""
    names = [f"libnvrtc.so.{major}" for major in (13, 12)]
    spec = find_spec("nvidia")
    folders = [Path(location) for location in spec.submodule_search_locations or ()] if spec is not None else []
    # Wheels of torch bring the compiler as a package of its own.
    paths = [str(path) for folder in folders for name in names for path in sorted(folder.glob(f"*/lib/{name}"))]
    for name in [*names, *paths, "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CudaError("The CUDA runtime compiler (libnvrtc) is not installed: it comes with torch for NVIDIA GPUs.")


def _call(name: str, *given: Any) -> None:
    """Call a function of the driver; raise if it fails."""
    driver = _driver()
    _check_result(getattr(driver, name)(*given), "CUDA driver", driver, "cuGetErrorString")


@cache
def capability_of(device: int) -> int:
    """Return the compute capability of an NVIDIA GPU: 90 for 9.0."""
    parts = []
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int()
        _call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        parts.append(value.value)
    return 10 * parts[0] + parts[1]


def compile_program(source: str, options: Sequence[str]) -> bytes:
    """Compile `source` to machine code; raise `CudaError` with the compiler's log if that fails."""
    compiler, program = _compiler(), ctypes.c_void_p()
    check = (compiler, "nvrtcGetErrorString")
    created = compiler.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"mercer.cu", 0, None, None)
    _check_result(created, "CUDA compiler", *check)
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    result, size = compiler.nvrtcCompileProgram(program, len(options), given), ctypes.c_size_t()
    # The log of a failed compilation says what is wrong with the program.
    if result:
        compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        compiler.nvrtcGetProgramLog(program, log)
        raise CudaError(f"CUDA compiler: {log.value.decode()}")
    _check_result(compiler.nvrtcGetCUBINSize(program, ctypes.byref(size)), "CUDA compiler", *check)
    code = ctypes.create_string_buffer(size.value)
    _check_result(compiler.nvrtcGetCUBIN(program, code), "CUDA compiler", *check)
    compiler.nvrtcDestroyProgram(ctypes.byref(program))
    return code.raw


@cache
def _compile_file(source: str, options: tuple[str, ...]) -> bytes:
    """Compile a file once for all of its functions."""
    return compile_program(source, options)


class CudaProgram:
    """A function of a ``.cu`` file on one device.

    Parameters
    ----------
    source : str
    function : str
    device : int
    constants : dict
        Names that the source uses, and what they stand for.
    shared : int
        Bytes of dynamic shared memory of a block.
    """

    def __init__(self, source: str, function: str, device: int, constants: dict[str, Any], shared: int = 0) -> None:
        names = [f"-D{name}={value}" for name, value in constants.items()]
        code = _compile_file(source, (f"--gpu-architecture=sm_{capability_of(device)}", "--std=c++17", *names))
        self.shared, self._context = shared, ctypes.c_void_p()
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        # The context of all libraries that use the runtime, torch and CuPy among them.
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._enter()
        try:
            _call("cuModuleLoadData", ctypes.byref(self._module), code)
            _call("cuModuleGetFunction", ctypes.byref(self._function), self._module, function.encode())
            if shared > _UNASKED:
                _call("cuFuncSetAttribute", self._function, _SHARED, shared)
        finally:
            self._leave()

    def _enter(self) -> None:
        _call("cuCtxPushCurrent_v2", self._context)

    @staticmethod
    def _leave() -> None:
        _call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def launch(self, grid: tuple[int, int], threads: int, given: Sequence[Any], like: Array) -> None:
        """Run it on arrays and numbers, queued after the work that the library of the array `like` has queued."""
        values = [_argument(value) for value in given]
        # cuLaunchKernel takes the addresses of the arguments.
        places = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        stream = ctypes.c_void_p(_stream_of(like))
        self._enter()
        try:
            sizes = (*grid, 1, threads, 1, 1, self.shared)
            _call("cuLaunchKernel", self._function, *sizes, stream, places, None)
        finally:
            self._leave()


def _argument(given: Any) -> Any:
    """Convert a number or the address of an array for CUDA: ints become 64-bit, floats double."""
    if isinstance(given, int):
        return ctypes.c_longlong(given)
    if isinstance(given, float):
        return ctypes.c_double(given)
    return ctypes.c_void_p(given.data_ptr() if hasattr(given, "data_ptr") else given.data.ptr)


def _stream_of(array: Any) -> int:
    """Return the stream in which the array's library queues its work."""
    # Only torch's arrays have data_ptr; all others that arrive here are CuPy's.
    if hasattr(array, "data_ptr"):
        import torch

        return int(torch.cuda.current_stream(array.device).cuda_stream)
    import cupy

    with array.device:
        return int(cupy.cuda.get_current_stream().ptr)


def device_of(array: Any) -> int | None:
    """Return the index of the NVIDIA GPU that an array of torch or CuPy is on; None for any other place."""
    library = type(array).__module__.split(".")[0]
    if library == "torch" and array.is_cuda:
        import torch

        return None if torch.version.cuda is None else int(array.device.index)
    return int(array.device.id) if library == "cupy" and _is_nvidia() else None


def memory_of(array: Array) -> int | None:
    """Return the bytes of memory, free or not, of the NVIDIA GPU that an array is on; None for any other place."""
    device = device_of(array)
    if device is None:
        return None
    total = ctypes.c_size_t()
    _call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
    return total.value


def _is_nvidia() -> bool:
    import cupy

    return not cupy.cuda.runtime.is_hip


@cache
def _compile_once(
    package: str, name: str, function: str, device: int, constants: tuple[tuple[str, Any], ...], shared: int
) -> CudaProgram | None:
    """Compile a program once per device and set of constants; warn and return None if that fails."""
    try:
        source = (files(package) / name).read_text(encoding="utf-8")
        return CudaProgram(source, function, device, dict(constants), shared)
    except (CudaError, OSError) as error:
        warnings.warn(
            f"{name} must be compiled for the GPU; got: {str(error)[:500]} Array operations are used instead, which "
            f"are slower. Install libnvrtc for the CUDA version of torch or CuPy (nvidia-cuda-nvrtc) to have it.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def cuda_program(
    package: str, name: str, function: str, array: Array, constants: dict[str, Any], shared: int = 0
) -> CudaProgram | None:
    """Return a function of the file `name` in a package for the GPU of `array`; None if it cannot be compiled."""
    device = device_of(array)
    return None if device is None else _compile_once(package, name, function, device, tuple(constants.items()), shared)
