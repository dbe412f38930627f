"""Everything that reads a file or a text that a user brings, each reader with right files to begin with."""
