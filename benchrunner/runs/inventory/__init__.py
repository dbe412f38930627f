"""Inventory: what a runs folder holds, read without torch, plugins' code or data."""
