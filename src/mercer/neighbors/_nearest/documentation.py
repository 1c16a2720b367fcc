"""The parts of the docstrings that several classes share."""

SHARED = {
    "fitted": """n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_, converged_, n_iter_, certificate_ :
        One step of objective 0: nothing is optimised, and the neighbours are exact.""",
}
