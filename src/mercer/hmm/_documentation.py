"""The parts of the docstrings that several classes share."""

SHARED = {
    "fitted": """log_likelihood_ : float
        Log-likelihood plus log prior of the fitted model.
    dead_states_ : ndarray of int
        States that explain no step.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective``, ``change``, ``seconds``, ``restart``.
    certificate_ : Certificate
        ``"likelihood ascent"``: what one more iteration is certain to add.""",
}
