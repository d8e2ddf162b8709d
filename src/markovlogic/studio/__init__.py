"""The studio: a local page to edit rules, run them, explore and explain results."""
