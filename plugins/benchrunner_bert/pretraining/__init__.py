"""Pre-training: from raw text to a backbone."""
