"""Exact inference on ground networks; it shares no code with the kernels, so that it can judge them."""
