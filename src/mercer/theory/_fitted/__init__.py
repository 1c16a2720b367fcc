"""Bounds that hold for one fitted classifier: what is known of it, the rules that apply, and the table of both."""
