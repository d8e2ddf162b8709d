"""Estimates, their errors and their diagnostics, from streaming tallies."""
