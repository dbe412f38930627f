"""The public names of `benchrunner_glue`, each with its module."""

from benchrunner_glue.table import GLUE as GLUE
