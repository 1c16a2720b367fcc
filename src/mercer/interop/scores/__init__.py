"""What exports to all forms read of a fitted model: its scores as weighted sums, trees or one of few bodies."""
