"""From raw text to a backbone: corpus, instances, objectives and what is left at the end."""
