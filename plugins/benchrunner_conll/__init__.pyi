"""The public names of `benchrunner_conll`, each with its module."""

from benchrunner_conll.column_scorer import ConllEval as ConllEval
from benchrunner_conll.corpus import CONLL2003 as CONLL2003, Corpus as Corpus
from benchrunner_conll.tag_metrics import metrics as metrics
