"""Draw all figures: ``python docs/figures/make.py [FOLDER]``; the documentation build does the same."""

import sys
from importlib import import_module
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.collections import Collection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# Every other module of this folder and its sub-folders draws one figure, under its own name.
FOLDER = Path(__file__).parent
PATHS = sorted(path for path in FOLDER.rglob("[!_]*.py") if path.stem != "make")
DRAWINGS = {
    path.stem: import_module(".".join(("figures", *path.relative_to(FOLDER).with_suffix("").parts))).draw
    for path in PATHS
}
STYLE = {
    "figure.figsize": (8.0, 3.2),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "legend.frameon": False,
    # Without a fixed salt and date the same figure would differ from build to build.
    "svg.hashsalt": "mercer",
    "savefig.dpi": 160,
}
# More marks or corners than this in one artist, or in a whole figure, are drawn as pixels inside the figure: as curves
# they take megabytes. Artists with few of them stay curves in any figure.
MOST_CORNERS = 300
MOST_IN_ALL = 5_000
FEW_CORNERS = 50


def count_corners(artist: Artist) -> int:
    """Return how many corners and marks a collection or a line has."""
    if isinstance(artist, Collection):
        each = max(1, sum(len(path.vertices) for path in artist.get_paths()))
        return max(each, len(artist.get_offsets()), artist.get_array().size if isinstance(artist, QuadMesh) else 0)
    return len(artist.get_xdata()) if isinstance(artist, Line2D) else 0


def draw_large_parts_as_pixels(figure: Figure) -> None:
    """Mark the artists of many corners, so that texts and axes alone stay curves."""
    counts = {artist: count_corners(artist) for artist in figure.findobj()}
    most = FEW_CORNERS if sum(counts.values()) > MOST_IN_ALL else MOST_CORNERS
    for artist, count in counts.items():
        if count > most:
            artist.set_rasterized(True)


def draw_all(folder: Path) -> None:
    """Write every figure to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        with plt.rc_context(STYLE):
            figure = draw()
            draw_large_parts_as_pixels(figure)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    draw_all(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/_build/figures"))
