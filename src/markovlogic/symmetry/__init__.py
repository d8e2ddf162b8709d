"""Symmetry: classes of constants, groups, and orbits of atoms, without grounding where possible."""
