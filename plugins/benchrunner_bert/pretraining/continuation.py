"""The facts that decide a result: a run is continued, or taken as finished, only if a request has the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchrunner import RequestError, quoted
from benchrunner.engine import decoding
from benchrunner_bert.pretraining.corpus.manifest import SourceFacts
from benchrunner_bert.pretraining.corpus.text_blocks import hashed
from benchrunner_bert.pretraining.deepspeed.configuration import decisive
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import TO_COME, Settings


def decisive_facts(request: Request, corpus: Sequence[SourceFacts]) -> dict[str, Any]:
    """Give everything in a request that decides the result, with the hashes of its texts."""
    vocabulary: int | str = request.vocabulary_size
    if request.vocabulary is not None:
        vocabulary = hashed(request.vocabulary)[1]
    return {
        "settings": request.settings.decisive(),
        "size": request.size,
        "blank_lines": request.blank_lines,
        "vocabulary": vocabulary,
        "lowercase": request.lowercase,
        "words": hashed(request.word_list)[1] if request.word_list else None,
        "overrides": decisive(request.deepspeed_options),
        "corpus": text_hashes(corpus),
        "held_out": text_hashes(request.held_out_texts.facts) if request.held_out_texts else [],
    }


def text_hashes(sources: Sequence[SourceFacts]) -> list[list[str]]:
    """Give the name and the content's hash of each text, and say if only its passages are read."""
    return [
        [source.name, *(["passages only"] if source.passages_only else []), source.sha256 or source.revision]
        for source in sources
    ]


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], where: Path) -> None:
    """Raise a `RequestError` that lists each difference between the facts in a file and those of this request."""
    if differences := list(_differences(before, decoding.as_json(now))):
        listed = "\n".join(f"  - {difference}" for difference in differences)
        raise RequestError(
            f"{where} belongs to another request:\n{listed}\nAsk for the same as before, or choose another folder."
        )


def with_steps_to_come(facts: Mapping[str, Any], settings: Settings, done: int) -> Mapping[str, Any]:
    """Give the facts of a checkpoint with the steps to come of these settings, if they ask for its `done` steps too.

    So a run with the schedule trapezoid can be cut short or made longer while its rate is constant: what it has done is
    what a run that began with the new number of steps would have done.
    """
    then: Mapping[str, Any] = facts["settings"]
    earlier = replace(settings, **{name: then[name] for name in TO_COME})
    for step in range(done):
        if settings.lr_at(step) != earlier.lr_at(step) or settings.length_at(step) != earlier.length_at(step):
            return facts
    to_come = {name: getattr(settings, name) for name in TO_COME}
    return {**facts, "settings": {**then, **to_come}}


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, value in now.items():
        old = before.get(name)
        pairs = [(old, value)]
        if isinstance(value, dict) and isinstance(old, dict):
            yield from _differences(old, {**dict.fromkeys(old), **value})
            continue
        if isinstance(value, list) and isinstance(old, list) and len(value) == len(old):
            pairs = list(zip(old, value, strict=True))
        for earlier, later in pairs:
            if earlier != later:
                yield f"{name.replace('_', ' ')} {quoted(earlier, 80)}, now {quoted(later, 80)}"
