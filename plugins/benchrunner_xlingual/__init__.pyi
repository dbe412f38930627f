"""The public names of `benchrunner_xlingual`, each with its module."""

from benchrunner_xlingual.table import PAWSX as PAWSX, SIB200 as SIB200, WIKIANN as WIKIANN, XNLI as XNLI
from benchrunner_xlingual.transfer import Transfer as Transfer
