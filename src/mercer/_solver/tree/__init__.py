"""Grow binary decision trees: columns, targets, split search, growth, pruning; shared by single trees and ensembles."""
