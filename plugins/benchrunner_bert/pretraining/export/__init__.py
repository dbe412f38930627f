"""The results of a pre-training: model folders in the hub's layout with model cards."""
