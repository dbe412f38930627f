"""Sharing: a study as a folder that anybody verifies, with metadata for model cards, and the verification."""
