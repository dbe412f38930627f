"""Leaderboards: the files they take, how these are written and checked."""
