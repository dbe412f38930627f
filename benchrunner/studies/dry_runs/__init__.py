"""Dry runs: what a study would run, and what this would cost."""
