"""Choosing a model: folds, trials, comparison and calibration."""
