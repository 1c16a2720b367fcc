"""Which CPU level to use: the highest that was built and that this CPU runs, or the one that MERCER_CPU names."""

import ctypes
import importlib.util
import platform
import subprocess
import sys
from pathlib import Path

LEVELS = ("v2", "v3", "v4", "plain")
# The psABI levels, by the names Linux gives to their features ("abm" is lzcnt, "pni" is SSE3).
_V2 = {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def choose_level(wanted: str) -> str:
    """Return `wanted` if it was built and this CPU runs it; the best level that was built if `wanted` is empty."""
    # The build recipe runs this file by itself to learn the level of this CPU, without the package around it.
    from mercer.errors import CpuLevelError

    runnable = list_levels()
    # A misspelt level must not pass for one that this CPU cannot run.
    if wanted and wanted not in LEVELS:
        raise CpuLevelError(
            f"MERCER_CPU: the level must be one of {', '.join(LEVELS)}; got {wanted!r}. Correct or unset it."
        )
    if not runnable or (wanted and wanted not in runnable):
        raise CpuLevelError(
            f"MERCER_CPU: this CPU runs the levels {', '.join(runnable) or 'none'}; got {wanted or 'no choice'!r}. "
            "Unset MERCER_CPU, or build mercer from source on this machine."
        )
    # The highest first: one look is enough unless a build left it out.
    level = next((name for name in ([wanted] if wanted else reversed(runnable)) if _is_built(name)), None)
    if level is None:
        raise CpuLevelError(
            f"MERCER_CPU: this build has the levels {', '.join(list_built_levels()) or 'none'}; got "
            f"{wanted or 'no choice'!r}. Unset MERCER_CPU, or build mercer with -Csetup-args=-Dlevels=all."
        )
    return level


def list_built_levels() -> list[str]:
    """Return the levels that this CPU runs and that this build has, lowest first."""
    return [level for level in list_levels() if _is_built(level)]


def _is_built(level: str) -> bool:
    """Return whether this build has the native modules of `level`."""
    try:
        return importlib.util.find_spec(f"mercer._native.{level}.elementary") is not None
    except ModuleNotFoundError:
        return False  # the folder of the level does not exist


def list_levels() -> list[str]:
    """Return the levels that this CPU runs, lowest first."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ["plain"]
    reader = {"linux": _read_linux, "darwin": _read_macos, "win32": _read_windows}.get(sys.platform)
    return reader() if reader else ["v2"]


def _read_linux() -> list[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    features = set(next((line for line in lines if line.startswith("flags")), "").split())
    return [name for name, needed in (("v2", _V2), ("v3", _V3), ("v4", _V4)) if needed <= features]


def _read_macos() -> list[str]:
    def has(feature: str) -> bool:
        answer = subprocess.run(["sysctl", "-n", f"hw.optional.{feature}"], capture_output=True, text=True, check=False)
        return answer.stdout.strip() == "1"

    return ["v2", *(["v3"] if has("avx2_0") else []), *(["v4"] if has("avx512vl") else [])]


def _read_windows() -> list[str]:
    has = ctypes.windll.kernel32.IsProcessorFeaturePresent  # type: ignore[attr-defined]
    return ["v2", *(["v3"] if has(40) else []), *(["v4"] if has(40) and has(41) else [])]


if __name__ == "__main__":
    print(list_levels()[-1])
