# Written by `python -m tools.make_stubs` from the table in mercer/random_projection/__init__.py.
from mercer.random_projection._bounds import johnson_lindenstrauss_eps as johnson_lindenstrauss_eps
from mercer.random_projection._bounds import johnson_lindenstrauss_min_dim as johnson_lindenstrauss_min_dim
from mercer.random_projection._distortion import Distortion as Distortion
from mercer.random_projection._distortion import measure_distortion as measure_distortion
from mercer.random_projection._projections import GaussianRandomProjection as GaussianRandomProjection
from mercer.random_projection._projections import SparseRandomProjection as SparseRandomProjection
