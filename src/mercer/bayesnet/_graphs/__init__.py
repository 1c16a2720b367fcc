"""Graphs: orders, moral graphs, triangulations, cliques, junction trees and separation."""
