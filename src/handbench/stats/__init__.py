"""Counts, metrics and intervals: everything is a function of per-cluster counts."""
