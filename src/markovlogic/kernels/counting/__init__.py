"""Counting instead of grounding: kernels that interpret the programs of `networks.counting`."""
