"""Features: encoded rows as flat arrays, and the flat batches made of them."""
