"""The lints of the project find what they are for, and let what is right pass."""

import ast
from pathlib import Path

import pytest

from tools import house_rules, prose_rules

PLACE = Path("src/mercer/_native/tree/example.py")


def list_prose(text):
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    sentences = [*prose_rules.list_joint_constants(tree, PLACE)]
    for node in functions:
        if not prose_rules.is_property(node):
            sentences += prose_rules.list_function_breaches(node, PLACE)
    return sentences


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('def f():\n    """The sum of rows."""', "begin the docstring of 'f' with a verb; got 'The sum of rows.'"),
        ('def joined_rows():\n    """Join rows."""', "name the function by a verb, as `prepare`, not `prepared`"),
        ("def _kept():\n    pass", "name the function by a verb"),
        ("FIRST, SECOND = 1, 2", "one constant per line, with its unit and reason; got FIRST, SECOND."),
    ],
)
def test_a_breach_of_prose_is_named(text, words):
    [sentence] = list_prose(text)
    assert words in sentence


@pytest.mark.parametrize(
    "text",
    [
        'def add_rows():\n    """Add rows."""',
        '@property\ndef kept(self):\n    """The rows that are kept."""',
        "def seed_member():\n    pass",
        "FIRST = 1\nlow, high = 1, 2",
    ],
)
def test_plain_code_has_no_breach_of_prose(text):
    assert list_prose(text) == []


@pytest.mark.parametrize("phrase", ["after so many steps", "rows, of which few", "whoever asks", "send the team home"])
def test_phrases_that_hide_a_number_or_a_subject_are_found(phrase, tmp_path, monkeypatch):
    monkeypatch.setattr(prose_rules, "ROOT", tmp_path)
    file = tmp_path / "example.py"
    file.write_text(f"# It ends {phrase}.\n")
    [sentence] = prose_rules.list_breaches(file)
    assert sentence.startswith("example.py:1: ")


@pytest.mark.parametrize(
    ("lines", "names", "words"),
    [
        (house_rules.LONGEST_BODY, house_rules.MOST_NATIVE_ARGUMENTS, None),
        (house_rules.LONGEST_BODY + 1, 1, f"f has at most {house_rules.LONGEST_BODY} lines; got 61"),
        (1, house_rules.MOST_NATIVE_ARGUMENTS + 1, "a native function takes at most 12 arguments; got 13 in f"),
    ],
)
def test_long_functions_and_long_lists_of_arguments_are_found(lines, names, words):
    arguments = ", ".join(f"x{number}" for number in range(names))
    [node] = ast.parse(f"def f({arguments}):\n" + "    pass\n" * lines).body
    sentences = [*house_rules.list_function_breaches(node, PLACE)]
    assert sentences == [] if words is None else words in sentences[0]


def test_functions_of_definition_files_are_measured_too(tmp_path, monkeypatch):
    monkeypatch.setattr(house_rules, "ROOT", tmp_path)
    path = tmp_path / "steps.pxd"
    wide = ", ".join(f"const double[:, ::1] x{number}" for number in range(13))
    path.write_text(
        f"cdef inline void add({wide}) noexcept nogil:\n    pass\n\n"
        f"cdef inline void _gemm({wide}) noexcept nogil:\n    pass\n\n"
        "cdef inline double long(const double[::1] x,\n                        double[::1] out) noexcept nogil:\n"
        + "    out[0] = x[0]\n"
        * 61
    )
    sentences = [*house_rules.list_definition_breaches(path)]
    assert len(sentences) == 2
    assert "steps.pxd:1: a native function takes at most 12 arguments; got 13 in add" in sentences[0]
    assert "steps.pxd:7: long has at most 60 lines; got 61" in sentences[1]


def test_long_files_and_full_folders_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(house_rules, "ROOT", tmp_path)
    folder = tmp_path / "src" / "room"
    folder.mkdir(parents=True)
    for number in range(house_rules.MOST_FILES + 1):
        (folder / f"module_{number}.py").write_text("\n" * (house_rules.LONGEST_FILE + (number == 0)))
    assert house_rules.describe_sizes() == "1 files have more than 400 lines, 1 folders more than 25 files."


def test_a_swap_of_classes_and_a_private_import_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(house_rules, "ROOT", tmp_path)
    file = tmp_path / "module.py"
    imports = "from sklearn.utils._param_validation import Interval\nfrom sklearn.utils import Tags, _safe_indexing\n"
    file.write_text(f"{imports}model.__class__ = Other\nfrom sklearn.utils import Tags  # no _private name\n")
    assert len([*house_rules.list_breaches(file)]) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RNG = np.random.default_rng(0)", "got 'RNG = np.random.default_rng(0)' for the whole file"),
        ("class TestIt:\n    random = RandomState(3)", "each test makes its own random generator"),
        ("def test_it():\n    np.random.seed(0)", "got 'np.random.seed'. Use np.random.default_rng(seed)."),
        ("X = numpy.random.normal(size=3)", "not from that of the process; got 'numpy.random.normal'"),
    ],
)
def test_draws_that_tests_share_are_found(text, words):
    [sentence] = house_rules.list_shared_draws(ast.parse(text), Path("tests/test_example.py"))
    assert words in sentence


def test_a_generator_of_one_test_or_of_one_constant_is_allowed():
    text = "X = np.random.default_rng(0).normal(size=3)\ndef test_it():\n    random = np.random.default_rng(0)"
    assert [*house_rules.list_shared_draws(ast.parse(text), Path("tests/test_example.py"))] == []
