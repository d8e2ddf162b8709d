"""Markov logic: weighted first-order rules and relational data in, probabilities out."""

__version__ = "0.1.0.dev0"
