"""The map of the code is true: its table is what the source says, and a fit takes the path that it shows."""

import re
import sys

from sklearn.datasets import make_blobs

from mercer.cluster import KMeans
from tools.import_contracts import is_private_to_another
from tools.room_map import PAGE, count_imports, list_layers, list_rooms, rewrite_page

NAME = re.compile(r"^\| `(mercer[\w.]+)` \|", re.MULTILINE)


def test_the_table_of_rooms_is_what_the_source_says():
    text = PAGE.read_text(encoding="utf-8")
    assert rewrite_page(text) == text, "run python -m tools.room_map"


def test_every_room_says_what_it_is_for():
    assert [folder.name for folder in list_rooms() if not (folder / "__init__.py").read_text().startswith('"""')] == []


def test_no_room_imports_a_room_of_a_higher_layer():
    height = {room: -number for number, layer in enumerate(list_layers()) for room in layer}
    upward = [pair for pair in count_imports() if {*pair} <= {*height} and height[pair[0]] < height[pair[1]]]
    assert upward == []


def test_a_fit_enters_the_modules_of_the_path_in_their_order():
    path = NAME.findall(PAGE.read_text(encoding="utf-8").split("<!-- path:")[1].split("<!-- end of path")[0])
    # A time limit asks after each step, so that no native call takes several.
    model = KMeans(3, n_init=1, random_state=0, n_jobs=1)
    X = make_blobs(60, random_state=0)[0]
    entered = trace_modules(lambda: model.fit(X))
    assert len(path) > 5
    assert [name for name in path if name not in entered] == []
    first = [entered.index(name) for name in path]
    assert first == sorted(first)


def trace_modules(function):
    """Return the modules whose functions are called while `function` runs, in the order of their first call."""
    entered = []

    def follow(frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name not in entered:
            entered.append(name)

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        function()
    finally:
        sys.setprofile(before)
    return entered


def test_a_private_module_of_another_family_is_recognised():
    assert is_private_to_another("mercer.ensemble._forest.model", "mercer.tree._stump")
    assert is_private_to_another("mercer.mixture._starts", "mercer.cluster._centres.k_means")
    assert not is_private_to_another("mercer.ensemble._forest.model", "mercer._solver.tree.growth")
    assert not is_private_to_another("mercer.tree._rules", "mercer.tree._stump")
    assert not is_private_to_another("mercer.app.study", "mercer.model_selection")
