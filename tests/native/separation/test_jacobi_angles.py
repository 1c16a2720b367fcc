"""Jacobi sweeps over sets of matrices, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def sweep(level):
    return importlib.import_module(f"mercer._native.{level}.jacobi_angles").sweep_pairs


def test_sweeps_recover_a_common_rotation(sweep):
    random = numpy.random.default_rng(1)
    Q = numpy.linalg.qr(random.normal(size=(4, 4)))[0]
    C = numpy.array([Q @ numpy.diag(random.normal(size=4)) @ Q.T for _ in range(3)])
    A, V = numpy.ascontiguousarray(C.transpose(1, 2, 0)), numpy.eye(4)
    for _ in range(8):
        last = sweep(A, V, 1e-16)
    assert last < 1e-12
    assert pytest.approx(numpy.eye(4), abs=1e-14) == V @ V.T
    assert numpy.abs(A.transpose(2, 0, 1) - V @ C @ V.T).max() < 1e-13
    assert numpy.sort(numpy.abs(V @ Q), axis=1)[:, -2].max() < 1e-12


def test_one_pair_turns_by_the_best_angle(sweep):
    C = numpy.array([[[2.0, 1.0], [1.0, -1.0]], [[0.5, -2.0], [-2.0, 1.0]]])
    A, V = numpy.ascontiguousarray(C.transpose(1, 2, 0)), numpy.eye(2)
    sine = sweep(A, V, 0.0)

    def off(angle):
        turn = numpy.array([[numpy.cos(angle), numpy.sin(angle)], [-numpy.sin(angle), numpy.cos(angle)]])
        return ((turn @ C @ turn.T)[:, 0, 1] ** 2).sum()

    angles = numpy.linspace(-numpy.pi / 4, numpy.pi / 4, 20_001)
    assert (A[0, 1] ** 2).sum() == pytest.approx(min(map(off, angles)), rel=1e-6)
    assert sine == pytest.approx(abs(V[0, 1]))


def test_diagonal_matrices_stay_as_they_are(sweep):
    A, V = numpy.zeros((3, 3, 2)), numpy.eye(3)
    A[[0, 1, 2], [0, 1, 2]] = [[3.0, 1.0], [2.0, -1.0], [2.0, -1.0]]
    before = A.copy()
    assert sweep(A, V, 1e-16) == 0.0
    assert (before == A).all()
    assert (numpy.eye(3) == V).all()
