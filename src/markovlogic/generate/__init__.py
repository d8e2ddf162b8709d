"""Benchmark problems of any size: rule file and evidence, made from a seed."""
