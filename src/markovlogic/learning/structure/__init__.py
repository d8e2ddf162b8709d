"""Rules from data: candidates by sampled paths, exact counts, selection by an L1 pseudo-likelihood, held-out decisions."""
