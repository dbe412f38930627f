"""The two averages over GLUE: of the BERT paper and of the leaderboard. Publications call both "the average"."""

from __future__ import annotations

from benchrunner import Average, Suite, Term


def _term(task: str, metric: str, split: str = "dev") -> Term:
    return Term(f"glue/{task}", split, metric)


_MATCHED = _term("mnli", "accuracy", "dev_matched")
_MISMATCHED = _term("mnli", "accuracy", "dev_mismatched")
_COLA, _SST2 = _term("cola", "matthews"), _term("sst2", "accuracy")
_QNLI, _RTE, _WNLI = (_term(task, "accuracy") for task in ("qnli", "rte", "wnli"))
_MRPC, _QQP, _STSB = _term("mrpc", "f1"), _term("qqp", "f1"), _term("stsb", "spearman")

PAPER_AVERAGE = Average(
    "paper average",
    tuple((term,) for term in (_MATCHED, _MISMATCHED, _QQP, _QNLI, _SST2, _COLA, _STSB, _MRPC, _RTE)),
)
"""The average of Table 1 in Devlin et al. 2019: the mean of nine columns, one metric each, without WNLI."""

GLUE_SCORE = Average(
    "GLUE score",
    (
        (_COLA,),
        (_SST2,),
        (_MRPC, _term("mrpc", "accuracy")),
        (_STSB, _term("stsb", "pearson")),
        (_QQP, _term("qqp", "accuracy")),
        (_MATCHED, _MISMATCHED),
        (_QNLI,),
        (_RTE,),
        (_WNLI,),
    ),
)
"""The leaderboard's score: the mean over nine tasks with WNLI; the figures of one task are averaged first."""

GLUE = Suite("glue", averages=(PAPER_AVERAGE, GLUE_SCORE))
