"""Training instances: drawn from a token store, masked, and collated into flat batches."""
