"""The work of the crossovers of solvers."""
