"""Exact inference that grounds nothing: engines over the rules themselves, each with a plan or a reason why it has none."""
