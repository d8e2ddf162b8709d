"""The run: batches of chains on cores, progress, limits, interrupts and checkpoints."""
