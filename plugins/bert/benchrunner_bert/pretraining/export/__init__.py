"""What a pre-training leaves: a model folder in the hub's layout with a model card."""
