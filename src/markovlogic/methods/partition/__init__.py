"""Equivalence relations as partitions: who must and may be together, the network of pairs, small parts exactly, clusters."""
