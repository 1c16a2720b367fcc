# Written by `python -m tools.make_stubs` from the table in mercer.covariance.
from mercer.covariance._elliptic_envelope import EllipticEnvelope as EllipticEnvelope
from mercer.covariance._empirical import EmpiricalCovariance as EmpiricalCovariance
from mercer.covariance._empirical import log_likelihood as log_likelihood
from mercer.covariance._functions import empirical_covariance as empirical_covariance
from mercer.covariance._functions import graphical_lasso as graphical_lasso
from mercer.covariance._functions import ledoit_wolf as ledoit_wolf
from mercer.covariance._functions import ledoit_wolf_shrinkage as ledoit_wolf_shrinkage
from mercer.covariance._functions import oas as oas
from mercer.covariance._functions import shrunk_covariance as shrunk_covariance
from mercer.covariance._graphical import GraphicalLasso as GraphicalLasso
from mercer.covariance._graphical_cv import GraphicalLassoCV as GraphicalLassoCV
from mercer.covariance._robust import MinCovDet as MinCovDet
from mercer.covariance._robust import fast_mcd as fast_mcd
from mercer.covariance._shrunk import OAS as OAS
from mercer.covariance._shrunk import LedoitWolf as LedoitWolf
from mercer.covariance._shrunk import ShrunkCovariance as ShrunkCovariance
