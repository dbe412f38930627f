"""Kinds of files that leaderboards take: tables, lines, JSON maps and columns, and how each spells an answer."""
