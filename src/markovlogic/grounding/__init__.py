"""Grounding: from a problem to a ground network, by one SQL query a clause."""
