"""Numba kernels: flat arrays in, flat arrays out; no I/O, no objects, no globals."""
