"""The public names of `benchrunner_files`, each with its module."""

from benchrunner_files.guessing import guessed as guessed
