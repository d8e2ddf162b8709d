"""Rules: from `.mln` text to a typed model, and from a formula to clauses with positive weights."""
