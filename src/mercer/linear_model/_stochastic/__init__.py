"""Estimators that learn row by row: SGDClassifier, SGDRegressor and Perceptron."""
