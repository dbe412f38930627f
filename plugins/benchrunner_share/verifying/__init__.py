"""Verifying: a folder that somebody else wrote is read strictly, and computed again from its answers."""
