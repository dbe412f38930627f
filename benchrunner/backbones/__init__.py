"""Backbones: models with their tokenizers, and the attention over flat batches."""
