"""How good probabilities are, judged by what turned out to be true."""
