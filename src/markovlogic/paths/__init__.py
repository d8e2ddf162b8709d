"""Rules as paths along facts: bodies that are chains of relations, counted exactly and never grounded."""
