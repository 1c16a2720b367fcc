"""Fits in which threads share native steps, to be run with the thread sanitizer's build."""
