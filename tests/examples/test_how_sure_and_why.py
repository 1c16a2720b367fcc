"""The example of intervals, reasons and tests runs for models of several libraries."""

import importlib.util
from pathlib import Path

import numpy as np

from mercer.tree import DecisionTreeClassifier

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "how_sure_and_why.py"


def load_script():
    specification = importlib.util.spec_from_file_location("how_sure_and_why", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_library_has_a_model_and_every_question_an_answer(tmp_path):
    script = load_script()
    names = dict(script.list_models())
    assert {"scikit-learn", "mercer"} <= set(names)
    said = script.tell("mercer", names["mercer"], tmp_path)
    assert len(said) == 8
    assert (tmp_path / "mercer.html").exists()
    # The column that decides most is told from the others by a model that is no sum.
    other = script.tell("tree", DecisionTreeClassifier(max_leaf_nodes=16, random_state=0), tmp_path)
    assert all(isinstance(one, str) and one for one in other)
    held = float(said[0].split()[2].rstrip("%")) / 100
    assert abs(held - script.COVERAGE) < 6 * np.sqrt(0.09 / 1000)
