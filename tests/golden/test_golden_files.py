"""Every model file ever committed still loads, and still says what it said."""

import json
from pathlib import Path

import numpy as np
import pytest

import mercer
from tests.golden.models import MODELS, predict

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*/*.mercer"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_golden_file_predicts_what_it_predicted_when_it_was_written(path):
    said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = mercer.load(path)
    X = np.array(said["X"], dtype=said["dtype"])
    np.testing.assert_allclose(predict(model, X), said["predictions"], rtol=1e-12, atol=1e-12)


def test_this_version_has_a_golden_file_of_every_model():
    present = {path.stem for path in FILES if path.parent.name == mercer.__version__}
    assert present >= MODELS.keys()
