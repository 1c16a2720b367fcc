"""Markov chains over states: single sites, clusters, and how independent the samples are."""
