"""Clusters around rows that messages choose."""
