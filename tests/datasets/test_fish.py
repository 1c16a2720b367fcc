"""The fish table: it is what its generator says, and its truth shows in it."""

import csv
from pathlib import Path

import numpy as np
from tools.make_tables import FOLDER, fish_rows

from mercer.datasets import load_fish, make_fish


def test_the_bundled_file_is_what_the_generator_writes():
    with Path(FOLDER / "fish.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [list(map(str, row)) for row in fish_rows()]


def test_arrays_and_frames_hold_the_same_table():
    arrays, frame = load_fish(), load_fish(as_frame=True)
    assert np.array_equal(frame.data.to_numpy(), arrays.data)
    assert frame.data.columns.tolist() == arrays.feature_names
    assert (frame.species == arrays.species).all()
    assert arrays.data.shape == (420, 4)


def test_one_seed_gives_one_table():
    assert all(np.array_equal(a, b) for a, b in zip(make_fish(50), make_fish(50), strict=True))
    assert not np.array_equal(make_fish(50)[0], make_fish(50, random_state=1)[0])


def test_weight_is_volume_with_six_percent_of_spread():
    X, weight, _ = make_fish(20_000)
    ratio = np.log(weight / X[:, :3].prod(axis=1))
    assert abs(ratio.std() - 0.06) < 0.01


def test_salmon_have_two_typical_sizes():
    X, _, species = make_fish(20_000)
    length = X[species == "salmon", 0]
    counts, _ = np.histogram(length, bins=[53, 59, 64, 70, 75, 81])
    assert counts[2] < counts[0] / 5
    assert counts[2] < counts[4] / 5
