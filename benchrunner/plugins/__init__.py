"""Plugins: the hooks, and what all installed plugins offer."""
