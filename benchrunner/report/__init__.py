"""Results as people and scripts read them."""
