"""The most probable world: search, proofs and bounds."""
