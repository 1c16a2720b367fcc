# Written by `python -m tools.make_stubs` from the table in mercer.explain.
from mercer.explain._counterfactuals import Counterfactuals as Counterfactuals
from mercer.explain._counterfactuals import find_counterfactuals as find_counterfactuals
from mercer.explain._dependence import Dependence as Dependence
from mercer.explain._dependence import InteractionStrengths as InteractionStrengths
from mercer.explain._dependence import dependence as dependence
from mercer.explain._dependence import interaction_strengths as interaction_strengths
from mercer.explain._explanation import ShapleyValues as ShapleyValues
from mercer.explain._importance import Importances as Importances
from mercer.explain._importance import column_importance as column_importance
from mercer.explain._influence import Influence as Influence
from mercer.explain._influence import influence as influence
from mercer.explain._shapley import shapley as shapley
from mercer.explain._surrogate import Prototypes as Prototypes
from mercer.explain._surrogate import Surrogate as Surrogate
from mercer.explain._surrogate import find_prototypes as find_prototypes
from mercer.explain._surrogate import surrogate_tree as surrogate_tree
