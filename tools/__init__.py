"""Tools for people who change the code; not installed."""
