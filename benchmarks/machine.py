"""What a result must say about where it was measured, and how much memory a process has taken."""

import os
import platform
import resource
import sys
from importlib import metadata
from pathlib import Path

import threadpoolctl

PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "daal", "faiss-cpu")


def describe() -> dict[str, object]:
    """Return processor, usable cores, memory, operating system, BLAS and the load at the start."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas": sorted({f"{pool['internal_api']} {pool['version']}" for pool in _blas_pools()}),
        "load": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Return the versions of mercer, of its core dependencies and of the peers that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "absent"
    return found


def thread_environment(threads: int) -> dict[str, str]:
    """Return the variables that hold every thread pool in use here to a number of threads."""
    names = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
    return {f"{name}_NUM_THREADS" if name != "VECLIB_MAXIMUM" else f"{name}_THREADS": str(threads) for name in names}


def busy_seconds() -> float:
    """Return the seconds that all cores together have worked since the machine started; nan where it is not told."""
    counters = Path("/proc/stat")
    if not counters.exists():
        return float("nan")
    user, nice, system, _, _, interrupt, soft_interrupt, stolen = map(int, counters.read_text().split()[1:9])
    return (user + nice + system + interrupt + soft_interrupt + stolen) / os.sysconf("SC_CLK_TCK")


def resident_memory() -> int:
    """Return the bytes resident now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def reset_peak() -> bool:
    """Forget the peak of resident memory so far, so that the next peak belongs to what comes next (Linux only)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_memory() -> int:
    """Return the largest number of bytes resident since the last reset, or since the process began."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _blas_pools() -> list[dict]:
    return [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
