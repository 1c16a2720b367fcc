"""Small models of every kind, which can be enumerated, and sums over their states."""

import numpy as np

from mercer.energy import IsingModel, PottsModel

TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (5, 6)]
KNOT = [(0, 1), (1, 2), (1, 3), (3, 4), (4, 0), (2, 5), (5, 1), (3, 5)]


def make_models():
    """Return models by name: a forest, a graph with cycles, lattices, rings and chains."""
    random = np.random.default_rng(7)
    models = {}
    for name, make, q in (("ising", IsingModel, None), ("potts", PottsModel, 3)):
        options = {} if q is None else {"n_states": q}

        def draw(n, q=q):
            return random.normal(size=n if q is None else (n, q))

        models[f"{name} forest"] = make(TREE, random.normal(size=5), draw(8), n_sites=8, beta=0.7, **options)
        models[f"{name} graph"] = make(KNOT, random.normal(size=8), draw(6), beta=1.3, **options)
        models[f"{name} torus"] = make.lattice((2, 3), beta=0.4, **options)
        models[f"{name} strip"] = make.lattice(
            (3, 2), random.normal(size=9), draw(6), periodic=(True, False), **options
        )
        models[f"{name} ring"] = make.ring(6, field=draw(6), beta=0.9, **options)
        models[f"{name} chain"] = make.chain(5, -0.8, **options)
        models[f"{name} cube"] = make.lattice((2, 2, 2), 0.5, periodic=False, **options)
    return models


MODELS = make_models()


def read_states(model):
    """Return all states as numbers 0 to q - 1, their probabilities, and their energies."""
    listed = model.enumerate()
    return model._encode(listed.states), listed.probabilities, listed.energies
