"""Metadata of model cards on the Hugging Face hub: `model-index`, and the files of the folder `.eval_results`.

The names of the fields are those of `modelcard.md` and `eval_results.yaml` in the repository huggingface/hub-docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from benchrunner_share.documents.card_scores import CardScore

_TASK_TYPES: Mapping[str | None, str] = {
    "single_label_classification": "text-classification",
    "multi_label_classification": "text-classification",
    "regression": "text-classification",
    "multiple_choice": "multiple-choice",
    "question_answering": "question-answering",
    "token_classification": "token-classification",
}
"""Name of an `ExportKind` -> task of the hub. The hub counts predicting a number for texts as text-classification."""
_METRIC_TYPES: Mapping[str, str] = {
    "matthews": "matthews_correlation",
    "pearson": "pearsonr",
    "spearman": "spearmanr",
}
"""Name of a metric -> its name on the hub, where the two differ."""


def model_card(backbone: str, escaped: str, scores: Sequence[CardScore]) -> str:
    """Write a backbone's scores as YAML metadata for its model card on the hub, and a note on how to use them.

    `escaped` is the backbone's name for Markdown.
    """
    metadata = _yaml({"library_name": "benchrunner", "model-index": model_index(backbone, scores)})
    return (
        f"---\n{metadata}---\n\nCopy the metadata above into the model card (README.md) of {escaped}.\n"
        "The values are means over restarts at the grid point that dev selected, as fractions of one.\n"
    )


def model_index(backbone: str, scores: Iterable[CardScore]) -> list[dict[str, Any]]:
    """Return the value of `model-index`: one result for each task and split, with its metrics."""
    grouped = groupby(scores, lambda score: (score.task, score.method, score.split))
    results = [_result(list(metrics)) for _, metrics in grouped]
    return [{"name": backbone.rsplit("/", 1)[-1], "results": results}]


def _result(scores: Sequence[CardScore]) -> dict[str, Any]:
    score = scores[0]
    hub = scores[0].hub
    data_set: dict[str, Any] = {"type": score.task, "name": f"{score.task} ({score.split})", "split": score.split}
    if hub is not None:
        data_set |= {"type": hub["repository"], "split": hub["split"]}
        data_set |= {"config": hub["configuration"]} if hub["configuration"] else {}
    return {
        "task": {"type": _TASK_TYPES.get(score.kind, score.problem), "name": f"{score.task}, {score.method}"},
        "dataset": data_set,
        "metrics": [
            {
                "type": _METRIC_TYPES.get(score.metric, score.metric),
                "value": score.mean,
                "name": f"{score.metric} ({score.remark})",
            }
            for score in scores
        ],
    }


def eval_results(scores: Iterable[CardScore], *, date: str, url: str | None, version: str) -> str:
    """Return a file of `.eval_results`: the headline metric on the first split of each task that the hub has.

    Empty if no data is on the hub. Values are on the scale of tables, such as 91.2 for an accuracy of 0.912.
    """
    entries = []
    known = set[tuple[str | None, str | None]]()
    for score in scores:
        if score.hub is None or not score.is_headline:
            continue
        key = (score.hub["repository"], score.hub["configuration"])
        if key not in known:
            known.add(key)
            entries.append(_entry(score, score.hub, date=date, url=url, version=version))
    return _yaml(entries) if entries else ""


def _entry(
    score: CardScore, hub: Mapping[str, str | None], *, date: str, url: str | None, version: str
) -> dict[str, Any]:
    data_set = {"id": hub["repository"], "task_id": hub["configuration"] or "default"}
    notes = f"{score.metric} on {hub['split']}, {score.method}, {score.remark}; benchrunner {version}"
    entry: dict[str, Any] = {"dataset": data_set, "value": round(score.mean * score.scale, 6), "date": date}
    source = {"source": {"url": url, "name": "Answers, verifiable by benchrunner"}} if url else {}
    return entry | source | {"notes": notes}


def _yaml(value: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
    return text
