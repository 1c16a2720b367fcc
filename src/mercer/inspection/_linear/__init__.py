"""Pictures of linear models: coefficient paths, penalties, couplings, losses, distances to a plane."""
