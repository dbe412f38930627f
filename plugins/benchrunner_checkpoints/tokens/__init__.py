"""What tokenizers of all families share: limits, and a cache of words."""
