"""Scaffolds: the packages that `benchrunner new` writes, to start a plugin from."""
