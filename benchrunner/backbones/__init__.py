"""Backbones: models with their tokenizers."""
