"""A board: a static site from shared folders, each of which is verified."""
