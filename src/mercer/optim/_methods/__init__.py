"""The minimisation methods, one module each."""
