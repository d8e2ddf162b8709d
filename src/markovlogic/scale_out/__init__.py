"""Inference where the data is: relations, grounding, components and results are tables of a database; see docs/design.md.

The program that starts it sees counts and names of rules only. Atoms are 64-bit codes; they are numbered 0..n-1 inside a bundle
of components, where this library's own code solves them.
"""
