"""Summaries of sequences, and fine-tuning with a head that reads one of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from benchrunner.command_line.main import main
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.methods.heads import LinearHead, summarize
from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe
from benchrunner.problems.problem import HeadShape
from benchrunner.runs.predicting import raw_outputs
from benchrunner_kinds import Tag
from benchrunner_kit.testing import TinyEncoder
from inline import plugins, runner
from tiny_fits import features

CPU = torch.device("cpu")
BY_HAND: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "first": lambda states: states[0],
    "last": lambda states: states[-1],
    "mean": lambda states: states.sum(0) / len(states),
    "max": lambda states: torch.stack([column.sort().values[-1] for column in states.T]),
}


def batch_of(units: list[int], *, multiple: int = 1) -> FlatBatch:
    return collate(features(12), np.array(units), CPU, multiple=multiple)


@pytest.mark.parametrize("choice", BY_HAND)
@pytest.mark.parametrize("multiple", [1, 64])
def test_a_summary_is_that_of_each_sequence_alone(choice: str, multiple: int) -> None:
    batch = batch_of([3, 7, 0, 11, 5, 2, 9], multiple=multiple)
    assert len(batch.tokens) > batch.real or multiple == 1
    states = torch.randn(len(batch.tokens), 5, generator=torch.Generator().manual_seed(0))
    states[batch.real :] = 1000.0  # a summary that reads the filling is far off
    summaries = summarize(choice, TinyEncoder(), states, batch)
    parts = [states[start:stop] for start, stop in zip(batch.starts[:-1], batch.starts[1:], strict=True)]
    torch.testing.assert_close(summaries, torch.stack([BY_HAND[choice](part) for part in parts]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("choice", RECIPE_FIELDS["summary"].choices)
def test_outputs_do_not_depend_on_the_rest_of_the_batch(choice: str) -> None:
    encoder, units = TinyEncoder(), [5, 2, 9]
    head = LinearHead(12, HeadShape("sequence", 3), seed=1, summary=choice)
    alone = torch.cat([head(encoder, batch_of([unit])) for unit in units])
    torch.testing.assert_close(head(encoder, batch_of(units, multiple=64)), alone, rtol=0, atol=1e-5)


def test_the_pooler_is_the_encoders_own_summary() -> None:
    encoder, batch = TinyEncoder(), batch_of([5, 2, 9])
    hidden = encoder(batch)
    assert torch.equal(summarize("pooler", encoder, hidden, batch), encoder.summary(hidden, batch))


def test_half_precision_states_are_averaged_in_full() -> None:
    batch = batch_of([0])
    states = torch.full((batch.real, 1), 1.0, dtype=torch.bfloat16)
    states[0] = 1.0078125  # the next bf16 number after 1: the mean lies between the two
    mean = summarize("mean", TinyEncoder(), states, batch)
    assert mean.dtype == torch.float32 and mean.item() == pytest.approx(1 + 0.0078125 / batch.real, abs=1e-6)


def test_fine_tuning_with_another_summary_is_another_fit(tmp_path: Path) -> None:
    made = runner(tmp_path)
    task, choices = made.plugins.tasks.find("mood"), RECIPE_FIELDS["summary"].choices
    fits = {choice: made.planner.plan(task, "words", recipe=task.recipe.changed(summary=choice)) for choice in choices}
    assert len({fit.id for fit in fits.values()}) == len(choices)
    assert made.planner.plan(task, "words").id == fits["pooler"].id
    outputs = []
    for choice in ("pooler", "mean", "max"):
        assert made.run(fits[choice]).status == "done"
        outputs.append(raw_outputs(fits[choice], made.planner.rows(task, "dev"), made).tolist())
    assert outputs[0] != outputs[1] != outputs[2]


def test_tasks_that_label_words_ignore_the_summary(tmp_path: Path) -> None:
    made = runner(tmp_path)
    method = made.plugins.methods.find("finetune")
    assert "summary" in method.fields_read(made.plugins.tasks.find("mood").problem)
    assert "summary" not in method.fields_read(Tag(("B", "O")))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"summary": "max"}, "Fit with --set summary=pooler."),
        ({"head_layer": "tanh"}, "Fit with --set head-layer=none."),
        ({"summary": "mean", "head_layer": "gelu"}, "Fit with --set summary=pooler head-layer=none."),
    ],
    ids=str,
)
def test_heads_that_no_other_library_has_are_not_exported(
    value: dict[str, str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = runner(tmp_path)
    task = made.plugins.tasks.find("mood")
    fit = made.planner.plan(task, "words", recipe=Recipe(epochs=1, **value))
    assert made.run(fit).status == "done"
    assert raw_outputs(fit, made.planner.rows(task, "dev"), made).shape[1] == 2
    words = ["runs", "export", fit.id, str(tmp_path / "out"), "--runs", str(tmp_path / "runs")]
    assert main(words, plugins=plugins()) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unknown_summary_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "mood", "--backbone", "words", "--set", "summary=average"], plugins=plugins()) == 2
    assert "not 'average'" in capsys.readouterr().err
