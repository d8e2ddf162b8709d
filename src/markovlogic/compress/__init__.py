"""Compression of domains and evidence."""
