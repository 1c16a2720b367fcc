"""Every option is declared once, and command line, TOML file and Python agree on it."""

import inspect
import re
from dataclasses import fields

import pytest

import mercer
from mercer.app.command import build_parser
from mercer.app.commands.run import read_config
from mercer.app.job import make_options
from mercer.app.option_kinds import COSTS, DURATION, FLAG, INTEGER, MODELS, NAMES, NUMBER, TARGETS, TEXT
from mercer.app.options import OPTIONS, OUTPUT, Options, convert_options, parse_options
from mercer.errors import ParameterError

# Of each kind a value as it is typed, as it is written in TOML, and as it is stored.
VALUES = {
    TEXT: ("some", '"some"', "some"),
    TARGETS: ("some, other", '"some, other"', "some, other"),
    INTEGER: ("7", "7", 7),
    NUMBER: ("0.5", "0.5", 0.5),
    FLAG: (None, "true", True),
    NAMES: ("a, b", '["a", "b"]', ["a", "b"]),
    MODELS: ("one, two; three", '["one, two", "three"]', ["one, two", "three"]),
    DURATION: ("5m", '"5m"', 300.0),
    COSTS: ("a/b=2", "{a = {b = 2.0}}", {"a": {"b": 2.0}}),
}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_command_line_toml_and_python_give_the_same_value(option, tmp_path):
    typed, written, value = VALUES[option.kind]
    if option.choices:
        typed, written, value = option.choices[0], f'"{option.choices[0]}"', option.choices[0]
    for spelling in option.spellings:
        words = [spelling] if typed is None else [spelling, typed]
        arguments = build_parser().parse_args(["run", "table.csv", *words])
        assert parse_options(vars(arguments), OPTIONS) == {option.name: value}
    (tmp_path / "c.toml").write_text(f"{option.name} = {written}", encoding="utf-8")
    assert read_config(str(tmp_path / "c.toml")) == {option.name: value}
    for name in (option.name, *option.also):
        assert convert_options({name: value}, OPTIONS) == {option.name: value}


def test_what_is_not_given_keeps_its_default():
    arguments = build_parser().parse_args(["run", "table.csv"])
    assert parse_options(vars(arguments), OPTIONS) == {}
    options = make_options({})
    assert all(getattr(options, option.name) == option.default for option in OPTIONS)
    assert options.shown == {}


def test_run_shows_every_option_in_its_signature_and_its_docstring():
    parameters = inspect.signature(mercer.run).parameters
    names = [option.name for option in OPTIONS]
    assert list(parameters) == ["table", "target", "name", "watch", *names[1:]]
    assert {name: parameters[name].default for name in names} == {option.name: option.default for option in OPTIONS}
    assert all(f"- ``{name}``: " in mercer.run.__doc__ for name in names[1:])


def test_an_unknown_option_or_value_is_refused_with_the_nearest_name():
    with pytest.raises(ParameterError, match=re.escape("run: there is no option `budjet`. Did you mean `budget`?")):
        mercer.run("table.csv", budjet="5m")
    with pytest.raises(ParameterError, match=re.escape("run: folds must be a whole number; got 'five'.")):
        mercer.run("table.csv", folds="five")
    with pytest.raises(ParameterError, match=r"run: there is no option `xyzzy`. The options are budget, candidates, "):
        mercer.run("table.csv", xyzzy=1)


def test_names_and_spellings_are_unique():
    spellings = [spelling for option in (*OPTIONS, OUTPUT) for spelling in option.spellings]
    assert len(set(spellings)) == len(spellings)
    assert [one.name for one in fields(Options) if not one.metadata] == [
        "actions",
        "command",
        "shown",
        "spent",
        "n_targets",
        "many_rows",
        "debug",
    ]
