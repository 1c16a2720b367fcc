"""Generators: seeds give the same rows, and what cannot be drawn is refused."""

import pickle

import numpy as np
import pytest
from sklearn.utils import Bunch

from mercer import datasets
from mercer.datasets import (
    make_autoregressive,
    make_blobs,
    make_class_gaussians,
    make_correlated_gaussian,
    make_low_rank,
    make_mixed_sources,
    make_mixture,
    make_moons,
    make_patterns,
    make_polynomial,
    make_rings,
    make_xor,
)
from mercer.errors import ParameterError

BUNCHES = [
    *(make_autoregressive, make_class_gaussians, make_correlated_gaussian, make_low_rank, make_mixed_sources),
    *(make_mixture, make_patterns, make_polynomial, make_rings, make_xor),
]


@pytest.mark.catalogue("WF-07")
@pytest.mark.parametrize("make", [*BUNCHES, make_blobs, make_moons], ids=lambda make: make.__name__)
def test_a_seed_gives_the_same_rows_and_another_seed_others(make):
    options = {"noise": 0.1} if make is make_moons else {}
    drawn = [make(random_state=seed, **options) for seed in (3, 3, 4, np.random.default_rng(3), None)]
    rows = [one.data if isinstance(one, Bunch) else one[0] for one in drawn]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert all(not np.array_equal(rows[0], one) for one in rows[2:])
    if make in BUNCHES:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(drawn[0])).data, rows[0])
        np.testing.assert_array_equal(make().data, make(random_state=0).data)
    assert make.__name__ in datasets.__all__


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: make_polynomial(0),
            "make_polynomial: n_samples must be an integer in [1, inf); got 0. Ask for more rows.",
        ),
        (
            lambda: make_rings(noise=-1),
            "make_rings: noise must be a number in [0, inf); got -1. It is a standard deviation.",
        ),
        (
            lambda: make_mixture(weights=[1.0, 1.0, 1.0]),
            "make_mixture: weights must be 3 numbers in [0, 1] that sum to one, one for each mean; got "
            "[1.0, 1.0, 1.0]. Divide them by their sum.",
        ),
        (
            lambda: make_class_gaussians(covariances=[[1.0, 0.0], [0.0, -1.0]]),
            "make_class_gaussians: covariances must be symmetric without negative eigenvalues; got "
            "[[[1.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, -1.0]]]. Form them as A A^T.",
        ),
        (
            lambda: make_class_gaussians(classes=["a", "a"]),
            "make_class_gaussians: classes must be 2 different labels; got ['a', 'a']. Name each class once.",
        ),
        (
            lambda: make_correlated_gaussian(scales=[1.0, 1.0, 1.0]),
            "make_correlated_gaussian: rotation must be None or a matrix where there are not two columns; got "
            "0.5235987755982988. Give an orthogonal matrix.",
        ),
        (
            lambda: make_moons((1, 2, 3)),
            "make_moons: n_samples must be an integer in [1, inf), or 2 of them, one for each group; got (1, 2, 3). "
            "Give as many numbers as there are groups.",
        ),
        (
            lambda: make_blobs(cluster_std=[1.0]),
            "make_blobs: cluster_std must be a number in [0, inf), or 3 of them, one for each blob; got [1.0]. It is a "
            "standard deviation.",
        ),
        (
            lambda: make_mixed_sources(sources=["pink"]),
            "make_mixed_sources: sources must be among uniform, laplace, gaussian, exponential, binary, sine, "
            "sawtooth, square, or autoregressive coefficients; got ['pink']. Name the laws.",
        ),
        (
            lambda: make_autoregressive(coefficients=[[1.0]]),
            "make_autoregressive: coefficients must be such that the roots of z^p = a_1 z^(p-1) + ... + a_p lie within "
            "the unit circle; got [1.0]. Make them smaller: the source would explode.",
        ),
        (
            lambda: make_low_rank(shape=(2, 2)),
            "make_low_rank: rank must be an integer in [1, 4]; got 5. Lower it.",
        ),
        (
            lambda: make_patterns(flip=10),
            "make_patterns: flip must be a probability in [0, 1]; got 10. Divide percentages by 100.",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(call, words):
    with pytest.raises(ParameterError) as caught:
        call()
    assert str(caught.value) == words
