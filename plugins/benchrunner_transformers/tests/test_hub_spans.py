"""Pieces know their characters, and answers come out without spaces around them; words are pieces inside a sentence."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tiny_tokenizers import TEXTS
from tokenizer_samples import ODD_TEXTS, read_both

from benchrunner import Recipe
from benchrunner_kinds import Span
from benchrunner_transformers.checkpoint.tokenizer import HubTokenizer

NAMES = ["albert", "bert", "big_bird", "deberta", "deberta-v2", "eurobert", "gpt2", "gpt_neox"]
NAMES += ["modernbert", "mpnet", "openai-gpt", "qwen2", "roberta", "t5", "xlnet"]
"""Model types, one for each way to split texts."""
PROBLEM = Span(max_answer=400, n_best=3)
BYTE_LEVEL = ("deberta", "gpt2", "gpt_neox", "roberta")
"""Tokenizers that transformers lets split words with a space before each, if `add_prefix_space` is given."""
NOT_COMPARED = ("eurobert", "modernbert", "qwen2")
"""Tokenizers for which transformers ignores `add_prefix_space`, or puts a space before each part of a word."""


@pytest.fixture(scope="module", params=NAMES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[HubTokenizer, Any]:
    return read_both(request.param, tmp_path_factory.mktemp("tokenizer"))


def encoder(tokenizer: HubTokenizer) -> Any:
    """Make the parts of an encoder that encoding uses."""
    return SimpleNamespace(
        pieces=tokenizer.pieces, frame=tokenizer.frame, max_length=9999, summary_place=tokenizer.summary_place
    )


def drawn_questions(count: int) -> pa.Table:
    """Draw contexts of words with all kinds of white space between them; the answers are their first words."""
    source, words = random.Random(3), [word for text in [*TEXTS, *ODD_TEXTS] for word in text.split()]
    contexts = []
    for _ in range(count):
        parts = source.choices(words, k=source.randint(5, 40))
        spaces = source.choices([" ", " ", " ", "  ", "\n", "\t", "\n\n", "\u00a0"], k=len(parts))
        contexts.append("".join(part + space for part, space in zip(parts, spaces, strict=True)))
    columns = {"id": list(map(str, range(count))), "question": ["What is it?"] * count, "context": contexts}
    return pa.table(columns | {"answers": [[text.split()[0]] for text in contexts], "starts": [[0]] * count})


def their_best(tokenizer: Any, question: str, context: str, scores: np.ndarray) -> str:
    """Decode scores of the context's tokens as the examples of transformers do (run_qa.py), trying every span.

    Answers lose the spaces at their ends, as the official scorer cuts them off, and no answer begins or ends with a
    piece of white space.
    """
    encoded = tokenizer(question, context, return_offsets_mapping=True)
    offsets = [span for span, text in zip(encoded["offset_mapping"], encoded.sequence_ids(0), strict=True) if text == 1]
    assert len(offsets) == len(scores)
    blank = np.array([not context[start:end].strip() for start, end in offsets])
    totals = np.where(blank, -np.inf, scores.T).T[:, :1] + np.where(blank, -np.inf, scores[:, 1])
    distance = np.arange(len(scores)) - np.arange(len(scores))[:, None]
    totals[(distance < 0) | (distance >= PROBLEM.max_answer)] = -np.inf
    first, last = divmod(int(totals.argmax()), len(scores))
    return context[offsets[first][0] : offsets[last][1]].strip()


def test_the_best_spans_are_those_of_transformers(both: tuple[HubTokenizer, Any]) -> None:
    """Of random scores."""
    (ours, theirs), data = both, drawn_questions(30)
    features = PROBLEM.encode(data, encoder(ours), Recipe(max_length=9999, stride=9999), training=False)
    outputs = np.random.default_rng(5).normal(size=(len(features.tokens), 2)).astype(np.float32)
    answers = PROBLEM.decode(PROBLEM.gather(outputs, features, data), data, {})
    places, counts = features.guides["place"], features.guides["count"]
    for row, context in enumerate(data["context"].to_pylist()):
        scores = outputs[places[row] : places[row] + counts[row]]
        assert answers[row] == their_best(theirs, "What is it?", context, scores), row


def test_pieces_of_one_character_have_its_span(tmp_path: Path) -> None:
    ours, _ = read_both("roberta", tmp_path)
    pieces = ours.pieces(["ab 😀 ż"])
    spans = [tuple(span) for span in pieces.spans.tolist()]
    assert spans.count((3, 4)) == 4 and spans.count((5, 6)) == 2


def test_words_are_those_of_transformers(both: tuple[HubTokenizer, Any]) -> None:
    ours, theirs = both
    folder = theirs.name_or_path
    model_type = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))["model_type"]
    if model_type in NOT_COMPARED:
        return
    if model_type in BYTE_LEVEL:
        theirs = type(theirs).from_pretrained(folder, add_prefix_space=True)
    words = [word for text in [*TEXTS, *ODD_TEXTS] for word in text.split()]
    for special in theirs.get_added_vocab():
        words = [word for word in words if special not in word]
    encoded = theirs(words, is_split_into_words=True, add_special_tokens=False)
    pieces = ours.words(words)
    assert pieces.tokens.tolist() == encoded["input_ids"]
    assert np.repeat(np.arange(len(words)), pieces.counts).tolist() == encoded.word_ids()
