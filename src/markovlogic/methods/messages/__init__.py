"""Belief propagation: factor graphs, ground or lifted, and the messages that run on them."""
