"""Significance: what of a study is shown, by intervals, by tests between its systems, and by ranks."""
