"""Studies: many fits compared, their tables, and the answers that are submitted."""
