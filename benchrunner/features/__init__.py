"""Features: encoded rows as flat arrays, the flat batches made of them, and the random numbers of training."""
