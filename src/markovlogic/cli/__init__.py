"""The command `mln`."""
