"""The switch: mercer's classes and functions in the places of scikit-learn's, for programs that import scikit-learn."""
