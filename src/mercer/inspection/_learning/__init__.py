"""Pictures of learning: fitted curves of several complexities, and errors from epoch to epoch."""
