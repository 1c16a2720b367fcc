"""Ensembles of any models: bagging, voting, stacking, and combinations of predictions."""
