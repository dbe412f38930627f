"""The public names of `benchrunner_swag`, each with its module."""

from benchrunner_swag.task import SWAG as SWAG
