"""Rows in Dask collections, on one machine or a cluster."""
