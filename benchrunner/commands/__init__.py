"""Commands: a file for each built-in command, imported when the command is chosen."""
