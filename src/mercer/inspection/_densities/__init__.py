"""Pictures of densities: transformed ones, evidence, predictions of least loss, noisy functions, shrinkage."""
