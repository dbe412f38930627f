"""The public names of `benchrunner_ranking`, each with its module."""

from benchrunner_ranking.beir import beir_task as beir_task
from benchrunner_ranking.corpus import BeirQueries as BeirQueries, Corpus as Corpus
from benchrunner_ranking.metrics import (
    mean_average_precision as mean_average_precision,
    ndcg as ndcg,
    recall as recall,
    reciprocal_rank as reciprocal_rank,
)
from benchrunner_ranking.rank import Rank as Rank
from benchrunner_ranking.retrieve import Retrieve as Retrieve
from benchrunner_ranking.wikiqa import WIKIQA as WIKIQA
