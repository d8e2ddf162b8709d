"""Weights from data: likelihoods of training databases, their gradients from counts, and what makes them largest."""
