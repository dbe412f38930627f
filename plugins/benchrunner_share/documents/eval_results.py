"""Scores for the folder `.eval_results` of a model on the Hugging Face hub.

The names of the fields are those of `eval_results.yaml` in the repository huggingface/hub-docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchrunner_share.documents.card_scores import CardScore


def eval_results(scores: Iterable[CardScore], content: Mapping[str, Any]) -> str:
    """Return a file of `.eval_results`: the headline metric on the first split of each task that the hub has.

    `content` is that of the study. Empty if no data is on the hub. Values are on the scale of tables, such as 91.2 for
    an accuracy of 0.912.
    """
    import yaml

    entries = []
    known = set[tuple[str | None, str | None]]()
    for score in scores:
        if score.hub is None or not score.is_headline:
            continue
        key = (score.hub["repository"], score.hub["configuration"])
        if key not in known:
            known.add(key)
            entries.append(_entry(score, score.hub, content))
    text: str = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=10_000)
    return text if entries else ""


def _entry(score: CardScore, hub: Mapping[str, str | None], content: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "dataset": {"id": hub["repository"], "task_id": hub["configuration"] or "default"},
        "value": round(score.mean * score.scale, 6),
        "date": content["answered"],
    }
    if content["url"]:
        entry["source"] = {"url": content["url"], "name": "Answers, verifiable by benchrunner"}
    about = f"{score.metric} on {hub['split']}, {score.method}, {score.remark}"
    return entry | {"notes": f"{about}; benchrunner {content['benchrunner']}"}
