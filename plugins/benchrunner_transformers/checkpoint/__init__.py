"""Checkpoints of the library transformers: their configuration, tokenizer and weights, and what they must keep to."""
