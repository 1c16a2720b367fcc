"""Points and distances: nearest centres, box trees, grids, linkage, densities, maps."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
