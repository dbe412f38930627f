"""Runs: fits, their predictions and what both leave on disk."""
