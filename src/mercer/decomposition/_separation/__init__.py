"""Independent components and source separation: contrasts, scores, solvers, joint diagonalisation, matching."""
