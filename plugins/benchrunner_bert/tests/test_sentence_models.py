"""A checkpoint of sentence-transformers is read as published: its pooling is its summary, in both families."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import benchrunner_bert
import benchrunner_transformers
from benchrunner import CheckpointError, Recipe, Regress, RowsFrom, Split, Task, Workspace
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.predicting import raw_outputs
from benchrunner_tasks import PEARSON
from inline import METHODS, own

FIRST = ["The river was cold.", "A long walk home through the rain and the dark.", "Tea?"]
SECOND = ["The water was cold and deep.", "He walked.", "A cup of tea, please."]
LIBRARY = "sentence_transformers.models."
OLDER = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "max": "pooling_mode_max_tokens"}


def near_task() -> Task:
    rows = {"a": FIRST, "b": SECOND, "label": [5.0, 1.0, 4.0]}
    splits = {role: Split(role, (RowsFrom(lambda workspace: rows),)) for role in ("train", "dev")}  # type: ignore[arg-type]
    return Task("mine/near", "How near are two texts?", Regress(0, 5), splits, (PEARSON,))


@pytest.fixture
def made(tmp_path: Path) -> Runner:
    offers = [("own", own(register_tasks=[near_task()])), METHODS]
    offers += [("bert", benchrunner_bert), ("transformers", benchrunner_transformers)]
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache")
    return Runner(discover(extra=offers, installed=False), workspace, Computing("cpu"))


@pytest.fixture
def near(made: Runner) -> Task:
    return made.plugins.tasks.find("near")


@pytest.fixture
def folder(made: Runner, tmp_path: Path) -> Path:
    """A tiny BERT, which other files make a sentence-embedding model."""
    made.planner.backbone("bert/random-2/32/2").load(made.workspace, seed=0).save(tmp_path / "model")
    return tmp_path / "model"


def publish(folder: Path, pooling: dict[str, object], *layers: str) -> None:
    """Write the files of sentence-transformers, with layers above the pooling."""
    names = ("Transformer", "Pooling", *layers)
    listed = [{"idx": place, "path": "", "type": f"{LIBRARY}{name}"} for place, name in enumerate(names)]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **pooling}))


def pooled(folder: Path, texts: list[str], mode: str) -> torch.Tensor:
    """Compute the vectors of texts as sentence-transformers does, in one padded batch."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"][..., None].float()
    if mode == "cls":
        return states[:, 0]
    return states.masked_fill(mask == 0, -1e9).amax(1) if mode == "max" else (states * mask).sum(1) / mask.sum(1)


@pytest.mark.parametrize("plugin", ["bert", "transformers"])
@pytest.mark.parametrize("mode", ["cls", "max", "mean"])
def test_cosines_are_those_of_the_published_pooling(
    plugin: str, mode: str, made: Runner, near: Task, folder: Path
) -> None:
    older = {key: name == mode for name, key in OLDER.items()}
    publish(folder, older if plugin == "bert" else {"pooling_mode": mode}, "Normalize")
    fit = made.planner.plan(near, f"{plugin}:{folder}", method="cosine")
    assert made.run(fit).status == "done"
    cosines = torch.cosine_similarity(pooled(folder, FIRST, mode), pooled(folder, SECOND, mode))
    outputs = raw_outputs(fit, made.planner.rows(near, "dev"), made)
    np.testing.assert_allclose(outputs[:, 0], 2.5 * (cosines.numpy() + 1), atol=1e-5)


def test_what_is_published_is_what_a_pooler_means(made: Runner, near: Task, folder: Path) -> None:
    def summary(method: str, **changes: str) -> str:
        return made.planner.plan(
            near, str(folder), method=method, recipe=Recipe(features="last", **changes)
        ).recipe.summary

    assert summary("finetune") == "pooler"
    publish(folder, {"pooling_mode": "mean"})
    assert (summary("finetune"), summary("probe"), summary("majority")) == ("mean", "mean", "pooler")
    assert summary("finetune", summary="max") == "max", "what the user says goes before"
    fit = made.planner.plan(near, str(folder), recipe=Recipe(epochs=1, batch_size=3))
    assert made.run(fit).status == "done"
    assert made.planner.plan(near, f"run:{fit.id}", recipe=Recipe()).recipe.summary == "mean", "it goes on as it began"
    publish(folder, {"pooling_mode": "mean"}, "Dense")
    assert summary("finetune") == "pooler"


def test_a_pooling_that_is_not_known_is_refused(made: Runner, near: Task, folder: Path) -> None:
    publish(folder, {"pooling_mode": ["cls", "mean"]})
    with pytest.raises(
        CheckpointError, match=r"1_Pooling/config.json: the model pools by \['cls', 'mean'\].*--set summary"
    ):
        made.planner.plan(near, str(folder))
    assert made.planner.plan(near, str(folder), recipe=Recipe(summary="mean")).recipe.summary == "mean"
    (folder / "modules.json").write_text('{"0": "Pooling"}')
    with pytest.raises(CheckpointError, match=r"modules\.json: a list of modules was expected"):
        made.planner.plan(near, str(folder))
