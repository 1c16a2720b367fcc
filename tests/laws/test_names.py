"""One name, one meaning: no two public modules export different objects under one name."""

import importlib
import pkgutil
import types
from collections import defaultdict

import pytest

import mercer


def list_public_modules():
    """Yield every module that a user can reach by public names; the command line is a program, not a library."""
    for found in pkgutil.walk_packages(mercer.__path__, "mercer."):
        parts = found.name.split(".")
        if not any(part.startswith("_") for part in parts) and parts[1] != "app":
            yield importlib.import_module(found.name)


def test_no_two_modules_export_one_name_for_different_things():
    meanings = defaultdict(dict)
    for module in list_public_modules():
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if not isinstance(thing, types.ModuleType):
                meanings[name].setdefault(id(thing), []).append(module.__name__)
    assert len(meanings) > 500
    assert {name: list(homes.values()) for name, homes in meanings.items() if len(homes) > 1} == {}


def test_no_thing_is_exported_under_two_names():
    names = defaultdict(set)
    for module in list_public_modules():
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing):
                names[id(thing)].add(name)
    assert [sorted(twins) for twins in names.values() if len(twins) > 1] == []


def test_a_name_that_never_was_is_refused():
    with pytest.raises(AttributeError, match=r"module 'mercer\.optim' has no attribute 'Stop'"):
        mercer.optim.Stop  # noqa: B018
