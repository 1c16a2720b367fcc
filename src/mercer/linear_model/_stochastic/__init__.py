"""Estimators that learn row by row: SGDClassifier, SGDRegressor, SGDOneClassSVM and Perceptron."""
