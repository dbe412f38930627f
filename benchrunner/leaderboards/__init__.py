"""Leaderboards: the files they take, how these are written and checked, and the results that were published."""
