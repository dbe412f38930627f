"""Files: atomic writing, strict reading, locks, seals, and access to the hub."""
