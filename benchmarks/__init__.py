"""Benchmarks, each a ratio inside one run, so that a budget means the same on every machine."""
