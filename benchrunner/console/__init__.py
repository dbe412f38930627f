"""Console: texts made safe for a terminal, and the standard streams of a process."""
