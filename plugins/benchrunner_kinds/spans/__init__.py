"""Answers that are spans of a text: the problem, windows over long texts, and the best spans."""
