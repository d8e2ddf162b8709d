"""Linking records: tables in, clusters of records that describe the same thing out."""
