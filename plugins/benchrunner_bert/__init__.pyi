"""The public names of `benchrunner_bert`, each with its module."""

from benchrunner_bert.backbones import BertCheckpoint as BertCheckpoint
from benchrunner_bert.family import BertFamily as BertFamily
