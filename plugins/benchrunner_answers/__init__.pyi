"""The public names of `benchrunner_answers`, each with its module."""

from benchrunner_answers.logs import Log as Log
