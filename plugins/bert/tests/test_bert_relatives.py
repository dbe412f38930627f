"""A third party's encoder that saves BERT's layout: its fits are its own, whatever their config.json looks like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

import benchrunner_bert
from benchrunner import Recipe, Workspace
from benchrunner.engine import Backbone, Encoder, FlatBatch, OneBackbone
from benchrunner.results import Computing, Runner, discover, predict
from benchrunner_bert.checkpoint import read
from benchrunner_bert.family import EMBEDDED
from benchrunner_bert.model import Bert
from inline import files, own


class MeanBert(Bert):
    """BERT whose summary is the mean of a sequence's states."""

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        lengths = batch.starts.diff()
        sums = hidden.new_zeros(len(lengths), hidden.shape[1]).index_add(0, batch.owner, hidden[: batch.real])
        return sums / lengths[:, None]


@dataclass(frozen=True)
class MeanBackbone(Backbone):
    name: str = "mean/novels"
    folder: Path = EMBEDDED[0].folder
    about: str = "the mean of BERT's states"

    def revision(self, workspace: Workspace) -> str:
        return f"mean {EMBEDDED[0].revision(workspace)}"

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        encoder = read(self.folder, seed=seed)
        encoder.__class__ = MeanBert
        return encoder


MEAN = OneBackbone(MeanBackbone(), lambda folder: MeanBackbone(str(folder), folder))


def test_a_relatives_fit_is_not_read_as_a_bert(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    extra = [("bert", benchrunner_bert), ("mean", own(register_backbones=[MEAN]))]
    plugins = discover(extra=extra, installed=False)
    assert not plugins.set_aside
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data")
    runner = Runner(plugins, workspace, Computing("cpu"))
    recipe = Recipe(lr=1e-3, epochs=8, batch_size=8, max_length=32)
    fit = runner.planner.plan(plugins.tasks.find("mood"), "mean/novels", recipe=recipe)
    assert isinstance(runner.planner.backbone(f"run:{runner.run(fit).id}").load(workspace, seed=0), MeanBert)
    assert predict(fit, "dev", runner).record.scores["accuracy"].value == 1.0
