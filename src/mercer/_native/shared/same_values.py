"""Compare Python objects by identity, which costs a few nanoseconds for each pair."""

import cython


@cython.cfunc
def _are_same(attributes: dict, noted: list) -> cython.bint:
    place: cython.Py_ssize_t = 0
    if len(attributes) != len(noted):
        return False
    for value in attributes.values():
        if value is not noted[place]:
            return False
        place += 1
    return True


def are_same(attributes: dict, noted: list) -> bool:
    """Return whether the values of a dictionary are the objects of a list in the same order; equal ones differ."""
    return _are_same(attributes, noted)
