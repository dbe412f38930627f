"""Leaderboards: which files they take, the contract of a kind of file, and the results that were published."""
