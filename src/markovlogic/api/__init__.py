"""The functions that users call: each plans and runs one task."""
