"""Attention over the sequences of a flat batch, without padding."""
