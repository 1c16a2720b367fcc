"""Outliers as rows whose surroundings are emptier than those of their neighbours."""
