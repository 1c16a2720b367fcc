"""Boosting that reweights rows: AdaBoost, its regularised form, AdaBoost.R2, LPBoost, and their margins."""
