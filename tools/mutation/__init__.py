"""Mutation testing: change the source a little, and count the changes that no test notices."""
