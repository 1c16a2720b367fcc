"""The same numbers as hmmlearn gave; `parity_cases` is the program that stored them."""

import numpy as np
import pytest

import mercer.hmm
from tests.hmm.parity_cases import FILE, describe, list_cases, train

CASES = list_cases()


@pytest.mark.catalogue("GM-15")
@pytest.mark.parametrize("name", CASES)
def test_models_are_trained_alike(name):
    kind, _, arrays, _ = CASES[name]
    with np.load(FILE) as file:
        stored = {key.partition("/")[2]: file[key] for key in file.files if key.startswith(f"{name}/")}
    X = stored.pop("rows")
    found = describe(train(getattr(mercer.hmm, kind), CASES[name], X, tol=0), arrays, X)
    assert set(found) == set(stored)
    np.testing.assert_array_equal(found.pop("states"), stored["states"])
    for key, value in found.items():
        np.testing.assert_allclose(value, stored[key], rtol=1e-9, atol=1e-8, err_msg=key)
