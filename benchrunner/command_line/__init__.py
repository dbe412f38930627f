"""The command line as a whole: its parser, options and output that commands share, and how failures are told."""

from benchrunner.command_line import options, output, study_commands

__all__ = ["options", "output", "study_commands"]
