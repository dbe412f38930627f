"""What a verification proves and what it cannot prove, in the words of all outputs."""

from __future__ import annotations

PROVEN = (
    "Every document but the report was built anew from the plan of the study, the answers in the folder and your own "
    "copy of the data, the majority answer from your own training rows, and is equal: scores, means, deviations, "
    "selections, warnings and metadata."
)
NOT_PROVEN = (
    "that the answers came from the named backbone, or from a training as described: recipe, seed, revision, limits "
    "of training rows and settings of decoding are as the sender says",
    "that fits without answers diverged or failed, and why",
    "that no training saw the gold answers of these rows",
    "that no further runs were made and left out",
    "names, the address, dates, seconds, devices and versions, which are as the sender's machine recorded them",
    "the report (report.html), which is only compared with the list of files",
)
"""What nobody can compute from answers: the end of a sentence that begins with `NOT_PROVEN_BEGINS`."""
NOT_PROVEN_BEGINS = "Not proven, and not provable from answers:"
FINGERPRINT_ADVICE = (
    "Give the fingerprint in another way too, for example in a paper: files and their list can be changed together."
)
FINGERPRINT_USE = (
    "Whoever changes a file can change the list of files too. Compare this fingerprint with one that the sender gave "
    "you in another way, for example in a paper."
)


def lines() -> list[str]:
    """Return all statements as lines of text."""
    return [PROVEN, NOT_PROVEN_BEGINS, *(f"- {claim}" for claim in NOT_PROVEN)]
