"""Training: the loop that fits a model, inference, and what both keep on disk."""
