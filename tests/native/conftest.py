"""Every native test runs at every level that was built and that this CPU runs, and on the uncompiled source."""

import importlib

import pytest

from mercer._native.level import list_built_levels

LEVELS = [*list_built_levels(), "interpreted"]


@pytest.fixture(params=LEVELS)
def level(request):
    """The name of one build of the native modules."""
    return request.param


@pytest.fixture
def elementary(level):
    return importlib.import_module(f"mercer._native.{level}.elementary")


@pytest.fixture
def triangles(level):
    return importlib.import_module(f"mercer._native.{level}.triangles")
