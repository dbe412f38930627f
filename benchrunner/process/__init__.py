"""Process: signals, the parent process, and what only some operating systems have."""
