"""Submissions: the answers of a study or of finished runs, written for a leaderboard, and checks of anybody's."""
