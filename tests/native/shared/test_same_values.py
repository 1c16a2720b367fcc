"""Objects are compared by identity."""

import importlib

import pytest


@pytest.fixture
def same_values(level):
    return importlib.import_module(f"mercer._native.{level}.same_values")


def test_the_same_objects_in_the_same_order_are_the_same(same_values):
    first, second = [1.0], [2.0]
    assert same_values.are_same({"a": first, "b": second}, [first, second])
    assert same_values.are_same({}, [])


def test_equal_objects_other_orders_and_other_lengths_differ(same_values):
    first, second = [1.0], [2.0]
    attributes = {"a": first, "b": second}
    for noted in ([first, [2.0]], [second, first], [first], [first, second, second]):
        assert not same_values.are_same(attributes, noted)
