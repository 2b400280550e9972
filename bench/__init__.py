"""Benchmarks: `python -m bench NAME --json`. Each is a ratio to a peer or to a limit measured in the same run."""
