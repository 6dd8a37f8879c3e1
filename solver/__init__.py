"""Solving Betting Black and White: exact and sampled equilibria, best responses, advice."""
