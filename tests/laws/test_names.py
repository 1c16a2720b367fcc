"""One name, one meaning: no two public modules export different objects under one name."""

import importlib
import pkgutil
import types
import warnings
from collections import defaultdict
from pathlib import Path

import pytest

import mercer
from mercer._renaming import OLD_NAMES

ROOT = Path(__file__).parents[2]
OLD = [(family, name) for family, names in OLD_NAMES.items() for name in names]


def list_public_modules():
    """Yield every module that a user can reach by public names; the command line is a program, not a library."""
    for found in pkgutil.walk_packages(mercer.__path__, "mercer."):
        parts = found.name.split(".")
        if not any(part.startswith("_") for part in parts) and parts[1] != "app":
            yield importlib.import_module(found.name)


def test_no_two_modules_export_one_name_for_different_things():
    meanings = defaultdict(dict)
    for module in list_public_modules():
        for name in module.__all__:
            thing = getattr(module, name)
            if not isinstance(thing, types.ModuleType):
                meanings[name].setdefault(id(thing), []).append(module.__name__)
    assert len(meanings) > 500
    assert {name: list(homes.values()) for name, homes in meanings.items() if len(homes) > 1} == {}


def test_no_thing_is_exported_under_two_names():
    names = defaultdict(set)
    for module in list_public_modules():
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing):
                names[id(thing)].add(name)
    assert [sorted(twins) for twins in names.values() if len(twins) > 1] == []


@pytest.mark.parametrize(("family", "name"), OLD)
def test_an_old_name_warns_and_gives_the_same_object(family, name):
    module, old = importlib.import_module(family), OLD_NAMES[family][name]
    assert name not in module.__all__
    with pytest.warns(FutureWarning) as caught:
        thing = getattr(module, name)
    assert str(caught[0].message) == f"{family}.{name} will go in mercer 0.3: use {old.replacement}."
    assert caught[0].filename == __file__
    home, _, attribute = old.home.rpartition(".")
    assert thing is getattr(importlib.import_module(home), attribute)
    # What replaces it is public, and using it warns of nothing.
    home, _, attribute = old.replacement.removesuffix("(X, y)").rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = importlib.import_module(home)
        assert attribute in new.__all__
        assert callable(getattr(new, attribute))


@pytest.mark.parametrize("page", ["CHANGELOG.md", "docs/guides/migration.md"])
def test_the_table_of_old_names_is_complete(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    rows = [
        f"| `{f.removeprefix('mercer.')}.{n}` | `{o.replacement}` |" for f, t in OLD_NAMES.items() for n, o in t.items()
    ]
    assert [row for row in rows if row not in text] == []


def test_a_name_that_never_was_is_refused():
    with pytest.raises(AttributeError, match=r"module 'mercer\.optim' has no attribute 'Stop'"):
        mercer.optim.Stop  # noqa: B018
