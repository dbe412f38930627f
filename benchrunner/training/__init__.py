"""Training: the loop that fits a model to features, inference, and the files that both keep."""
