"""CUDA C: that it compiles, that it runs, and that its absence is no error."""

from importlib.resources import files

import numpy as np
import pytest
import torch

from mercer._source.device import cuda_program

SCATTER = {"BANDS": 3, "PAIRS": 6, "TEAMS": 2, "LINES": 32, "RESIDENT": 1, "FOLD": 1}
SOURCES = [
    ("mercer.svm._dual", "pair_steps.cu", 80, {"CLUSTER": 1, "THREADS": 1024, "PER": 4, "PAIRS": 2}),
    ("mercer.svm._dual", "pair_steps.cu", 86, {"CLUSTER": 1, "THREADS": 1024, "PER": 2, "PAIRS": 2}),
    ("mercer.svm._dual", "pair_steps.cu", 90, {"CLUSTER": 8, "THREADS": 128, "PER": 8, "PAIRS": 4}),
    *(("mercer._solver", "kernel_sums.cu", 80, {"KIND": kind}) for kind in range(1, 6)),
    *(("mercer._solver.neighbours", "nearest_rows.cu", 80, {"STEPS": s, "STAGES": 2}) for s in (1, 4, 16)),
    ("mercer._solver.neighbours", "rank_candidates.cu", 80, {"REAL": "float", "WIDE": 0}),
    ("mercer._solver.neighbours", "rank_candidates.cu", 80, {"REAL": "double", "WIDE": 1}),
    ("mercer.manifold._tsne._device", "map_steps.cu", 80, {}),
    ("mercer._source.device", "group_sums.cu", 80, {"REAL": "float", "LANES": 32, "ORDERED": 1}),
    *(("mercer._source.device", "scatter_sums.cu", 90, SCATTER | {"REAL": real}) for real in ("float", "double")),
]
SCALED = """
extern "C" __global__ void scaled(double *x, long long n, double by)
{
    if (threadIdx.x < n)
        x[threadIdx.x] *= by;
}
"""


def test_every_source_is_where_its_program_looks_for_it():
    assert [name for room, name, *_ in SOURCES if not (files(room) / name).is_file()] == []


def has_compiler():
    try:
        cuda_program._compiler()
    except cuda_program.CudaError:
        return False
    return True


needs_compiler = pytest.mark.skipif(not has_compiler(), reason="the CUDA compiler, which comes with torch for GPUs")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA programs run on NVIDIA GPUs only")


@pytest.mark.parametrize("array", [np.ones(3), torch.ones(3)], ids=["numpy", "torch"])
def test_arrays_elsewhere_have_no_program(array):
    assert cuda_program.device_of(array) is None
    assert cuda_program.memory_of(array) is None
    assert cuda_program.cuda_program("mercer._solver", "kernel_sums.cu", "kernel_sums", array, {"KIND": 1}) is None


def test_code_that_cannot_be_compiled_gives_a_warning_and_no_program(monkeypatch):
    def fail():
        raise cuda_program.CudaError("no compiler.")

    monkeypatch.setattr(cuda_program, "_compiler", fail)
    monkeypatch.setattr(cuda_program, "device_of", lambda array: 0)
    monkeypatch.setattr(cuda_program, "capability_of", lambda device: 90)
    expected = (
        "kernel_sums.cu must be compiled for the GPU; got: no compiler. Array operations are used instead, which are "
        "slower. Install libnvrtc for the CUDA version of torch or CuPy (nvidia-cuda-nvrtc) to have it."
    )
    with pytest.warns(RuntimeWarning) as caught:
        found = cuda_program.cuda_program("mercer._solver", "kernel_sums.cu", "kernel_sums", None, {"KIND": -1})
    assert found is None
    assert [str(one.message) for one in caught] == [expected]


@needs_compiler
@pytest.mark.parametrize(("room", "name", "architecture", "constants"), SOURCES)
def test_every_source_compiles(room, name, architecture, constants):
    source = (files(room) / name).read_text(encoding="utf-8")
    options = [f"--gpu-architecture=sm_{architecture}", *(f"-D{key}={value}" for key, value in constants.items())]
    assert len(cuda_program.compile_program(source, options)) > 1000


@needs_compiler
def test_an_error_of_the_compiler_is_told():
    with pytest.raises(cuda_program.CudaError, match=r"undefined_name"):
        cuda_program.compile_program('extern "C" __global__ void f() { undefined_name; }', [])


@needs_gpu
def test_a_program_works_on_arrays_in_place():
    x = torch.arange(5.0, dtype=torch.float64, device="cuda")
    program = cuda_program.CudaProgram(SCALED, "scaled", 0, {})
    program.launch((1, 1), 32, [x, 4, 2.5], x)
    assert x.tolist() == [0.0, 2.5, 5.0, 7.5, 4.0]
    with pytest.raises(cuda_program.CudaError, match="CUDA driver: error"):
        program.launch((1, 1), 2048, [x, 4, 2.5], x)
