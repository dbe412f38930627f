"""The reader of Wang et al. 2018: each text read alone, attention between the texts of a pair, a second BiLSTM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn

from benchrunner import ACCURACY, Classify, Recipe, RequestError, Split, Task, TextTable, UnknownName
from benchrunner.engine import Dropout, Features, FlatBatch, Sequences, collate
from benchrunner.results import Computing, Runner, predict
from benchrunner.runs.predicting import raw_outputs
from benchrunner_kinds import Tag
from benchrunner_kit.testing import TinyEncoder
from benchrunner_methods.frozen_readers import joined
from benchrunner_methods.recurrent_heads import AttentionHead, BiLstm
from inline import runner

pytestmark = pytest.mark.usefixtures("narrow_bilstm")

HIDDEN, WIDTH = 6, 32
LENGTHS = [(3, 5), (1, 1), (4, 2), (3, 5), (7, 1), (2, 6)]
"""Tokens of the two texts of each pair."""


def batch_of(lengths: list[tuple[int, ...]], **options: Any) -> FlatBatch:
    segments = [np.repeat(np.arange(len(texts)), texts) for texts in lengths]
    sizes = [sum(texts) for texts in lengths]
    tokens = np.arange(sum(sizes), dtype=np.int32)
    sequences = Sequences(tokens, np.concatenate(segments).astype(np.int8), np.cumsum([0, *sizes]))
    return collate(Features.of(sequences), np.arange(len(lengths)), torch.device("cpu"), **options)


def read_alone(layer: BiLstm, states: torch.Tensor) -> torch.Tensor:
    """Let each direction of a BiLSTM read one text, token by token, with torch's single cells."""
    directions = []
    for lstm, tokens in ((layer.forwards, states), (layer.backwards, states.flip(0))):
        cell = nn.LSTMCell(lstm.input_size, lstm.hidden_size)
        cell.load_state_dict({name: getattr(lstm, f"{name}_l0").detach() for name in cell.state_dict()})
        outputs, memory = [], None
        for token in tokens[:, None]:
            memory = cell(token, memory)
            outputs.append(memory[0])
        directions.append(torch.cat(outputs if lstm is layer.forwards else outputs[::-1]))
    return torch.cat(directions, dim=1)


def plain_output(head: AttentionHead, *texts: torch.Tensor) -> torch.Tensor:
    """Compute the output for a text or a pair as the paper describes it."""
    for layer in head.first:
        texts = tuple(read_alone(layer, states) for states in texts)
    if len(texts) == 2:
        assert head.second is not None
        first, second = texts
        context = []
        for states, other in ((first, second), (second, first)):
            rows = []
            for state in states:
                weights = torch.stack([state.dot(word) for word in other]).softmax(0)
                rows.append(torch.cat([state, sum(weight * word for weight, word in zip(weights, other, strict=True))]))
            context.append(torch.stack(rows))
        u, v = (read_alone(head.second, states).max(dim=0).values for states in context)
        vector = torch.cat([u, v, (u - v).abs(), u * v])
    else:
        vector = texts[0].max(dim=0).values
    return head.output(torch.tanh(head.inner(vector)))


@pytest.mark.parametrize("pairs", [True, False], ids=["pairs", "texts"])
def test_outputs_equal_a_plain_implementation(pairs: bool) -> None:
    head = AttentionHead(HIDDEN, 3, pairs=pairs, seed=1, width=32)
    lengths = LENGTHS if pairs else [(sum(texts),) for texts in LENGTHS]
    batch = batch_of(lengths, multiple=16)
    states = torch.randn(len(batch.tokens), HIDDEN, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        outputs = head(states, batch, rate=0.1)
        for unit, sizes in enumerate(lengths):
            start = int(batch.starts[batch.restore[unit]])
            texts = states[start : start + sum(sizes)].split(list(sizes))
            torch.testing.assert_close(outputs[unit], plain_output(head, *texts), rtol=0, atol=1e-6)
    assert outputs.shape == (6, 3)


def test_dropout_follows_seed_and_step() -> None:
    head = AttentionHead(HIDDEN, 3, pairs=True, seed=1, width=32)
    states = torch.randn(40, HIDDEN, generator=torch.Generator().manual_seed(2))
    outputs = [head(states, batch_of(LENGTHS, dropout=Dropout(0, step)), rate=0.5) for step in (1, 1, 2)]
    assert torch.equal(outputs[0], outputs[1]) and not torch.equal(outputs[0], outputs[2])


def test_rows_are_joined_from_texts_that_were_read_alone() -> None:
    first = Features.of(Sequences(np.arange(5, dtype=np.int32), np.zeros(5, np.int8), np.array([0, 2, 5])))
    second = Features.of(Sequences(np.arange(10, 14, dtype=np.int32), np.zeros(4, np.int8), np.array([0, 3, 4])))
    positions, rows = joined([first, second])
    assert rows.tokens.tolist() == [0, 1, 10, 11, 12, 2, 3, 4, 13]
    assert positions.tolist() == [0, 1, 5, 6, 7, 2, 3, 4, 8]
    assert rows.segments.tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 1]
    assert rows.starts.tolist() == [0, 5, 9] and rows.units == 2


RECIPE = Recipe(
    lr=1e-2, epochs=30, batch_size=8, features="weighted-sum-with-embeddings", dropout=0.0, bilstm_width=WIDTH
)


def same_words(folder: Path) -> Task:
    """Write pairs of words, the same word twice or two words: no text alone has the answer."""
    draw = np.random.default_rng(0)
    words = ["merry", "rainy", "river", "walk", "bleak", "day"]
    (folder / "data" / "same").mkdir(parents=True)
    for name in ("train", "dev"):
        lines = ["one\ttwo\tlabel"]
        for _ in range(48):
            first, other = draw.choice(words, 2, replace=False)
            is_same = draw.random() < 0.5
            lines.append(f"the {first}\t{first if is_same else other} by day\t{'same' if is_same else 'other'}")
        (folder / "data" / "same" / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    columns = {"a": "one", "b": "two", "label": "label"}
    splits = {role: Split(role, (TextTable(f"same/{role}.tsv", columns),)) for role in ("train", "dev")}  # type: ignore[arg-type]
    return Task("mine/same", "Is it the same word?", Classify(("same", "other")), splits, (ACCURACY,), RECIPE)


def test_a_pair_is_compared_and_the_fit_reads_back(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[same_words(tmp_path)])
    fit = made.planner.plan(made.plugins.tasks.find("same"), "words", method="features+attention", recipe=RECIPE)
    record = made.run(fit)
    assert record.status == "done", record.reason
    accuracy = predict(fit, "dev", made).record.scores["accuracy"].value
    assert accuracy is not None and accuracy > 0.9, "the words are compared across the two texts"
    again = Runner(made.plugins, made.workspace, Computing("cpu"))
    rows = again.planner.rows(again.plugins.tasks.find("same"), "train")
    outputs = raw_outputs(fit, rows, again)
    assert outputs.shape == (48, 2)


def test_questions_about_more_than_texts_are_refused(tmp_path: Path) -> None:
    tags = Task("mine/tags", "tags", Tag(("O", "B-X")), {"train": Split("train", ())}, (ACCURACY,))
    made = runner(tmp_path, register_tasks=[tags])
    with pytest.raises(
        RequestError, match=r"'features.attention' is for tasks that ask about one text or a pair of texts.* kind 'tag'"
    ):
        made.planner.plan(made.plugins.tasks.find("tags"), "words", method="features+attention")
    with pytest.raises(UnknownName, match=r"Did you mean features\+attention"):
        made.planner.plan(made.plugins.tasks.find("tags"), "words", method="features+atention")


def test_each_text_has_its_states_from_being_read_alone(tmp_path: Path) -> None:
    """The state of a token does not depend on the other text of its pair."""
    made = runner(tmp_path, register_tasks=[same_words(tmp_path)])
    fit = made.planner.plan(
        made.plugins.tasks.find("same"), "words", method="features+attention", recipe=RECIPE.changed(epochs=1)
    )
    assert made.run(fit).status == "done"
    table = made.planner.rows(made.plugins.tasks.find("same"), "train").table
    encoder = TinyEncoder().eval()
    problem = Classify(("same", "other"))
    alone = problem.encode(pa.table({"a": table["b"]}), encoder, RECIPE, training=False)
    batch = collate(alone, np.arange(alone.units), torch.device("cpu"))
    with torch.inference_mode():
        expected = encoder(batch).numpy()
    files = [np.load(file) for file in (tmp_path / "cache" / "states").glob("*/layer-01.npy")]
    (cached,) = (states for states in files if states.shape == expected.shape)
    np.testing.assert_allclose(cached[batch.feature_positions], expected, atol=2e-3)
