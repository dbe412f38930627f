"""GLUE's two averages. They are different figures, and both have been called "the average"."""

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
"""Of Table 1 in Devlin et al. 2019: nine columns that weigh the same, one metric each, WNLI left out."""

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
"""The leaderboard's: nine tasks that weigh the same, a task's own figures averaged first, WNLI in."""

GLUE = Suite("glue", averages=(PAPER_AVERAGE, GLUE_SCORE))
