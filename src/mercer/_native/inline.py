"""Uncompiled twin."""
