"""Submissions: the answers of a study in the files of a leaderboard, written and checked."""
