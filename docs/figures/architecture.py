"""The rooms of the package in their layers, with the imports between them, read off the source."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.room_map import count_imports, list_layers

# Rooms in one row of boxes; a layer with more rooms takes several rows.
PER_ROW = 5
BOX_HEIGHT = 0.62
FAMILY_COLOUR = "#dbe9f6"
CONCEPT_COLOUR = "#e8f3dc"
# The rooms at the bottom that anything may import: arrows to them would say nothing.
LOWEST_LAYER = -1


def draw():
    layers = list_layers()
    places = place_rooms(layers)
    figure, axes = plt.subplots(figsize=(8.0, 8.0))
    for room, (x, y, width) in places.items():
        colour = CONCEPT_COLOUR if is_concept(room) or room in layers[LOWEST_LAYER] else FAMILY_COLOUR
        axes.add_patch(
            FancyBboxPatch((x, y), width, BOX_HEIGHT, boxstyle="round,pad=0.02", fc=colour, ec="#888", lw=0.6)
        )
        axes.text(x + width / 2, y + BOX_HEIGHT / 2, room, ha="center", va="center", fontsize=7.5)
    draw_arrows(axes, places, {*layers[LOWEST_LAYER]})
    axes.set_xlim(-0.2, 10.2)
    axes.set_ylim(min(y for _, y, _ in places.values()) - 0.3, 0.9)
    axes.axis("off")
    axes.set_title("A room imports only what stands below it; a number counts the imports of an arrow", fontsize=9)
    return figure


def is_concept(room):
    """Return whether a room is one of the concepts that families share."""
    return room.startswith("_") or room in ("kernels", "watch")


def place_rooms(layers):
    """Return the left edge, lower edge and width of the box of each room."""
    places, y = {}, 0.0
    for layer in layers:
        for start in range(0, len(layer), PER_ROW):
            row = layer[start : start + PER_ROW]
            width = min(10.0 / len(row), 2.6)
            gap = (10.0 - width * len(row)) / (len(row) + 1)
            for number, room in enumerate(row):
                places[room] = (gap + number * (width + gap) + 0.06, y, width - 0.12)
            y -= 0.72
        y -= 0.5
    return places


def draw_arrows(axes, places, lowest):
    """Draw an arrow for the imports between two concepts, behind the boxes; those of families would hide them."""
    for (importer, imported), count in count_imports().items():
        if not all(room in places and is_concept(room) and room not in lowest for room in (importer, imported)):
            continue
        (x0, y0, w0), (x1, y1, w1) = places[importer], places[imported]
        start, end = (x0 + w0 / 2, y0), (x1 + w1 / 2, y1 + BOX_HEIGHT)
        style = {"arrowstyle": "-|>", "mutation_scale": 8, "color": "#666", "alpha": 0.6, "zorder": 0}
        axes.add_patch(FancyArrowPatch(start, end, lw=0.5 + 0.25 * count**0.5, shrinkA=2, shrinkB=2, **style))
        # A label nearer to the tail stands where the arrows of one room have not yet met those of others.
        axes.text(0.7 * start[0] + 0.3 * end[0], 0.7 * start[1] + 0.3 * end[1], str(count), fontsize=6, color="#333")
