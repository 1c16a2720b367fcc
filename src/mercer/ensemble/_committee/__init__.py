"""Ensembles of any models: bagging, voting, stacking and how their answers are combined."""
