"""Minimise losses plus a penalty, smooth or not; shared by linear models and linear support vector machines."""
