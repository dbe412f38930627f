"""IA3 of docs/reference/derived_methods.md over BERT, beside the library transformers."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer, BertModel

import benchrunner_bert
from benchrunner import Workspace
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.predicting import raw_outputs
from benchrunner_bert.family import BertFamily
from benchrunner_kit.testing import check_method
from distributions import ROOT
from documents import blocks
from inline import QUICK, files, own

SCALED = ("self.key.weight", "self.value.weight")


@pytest.fixture(scope="module")
def ia3() -> Any:
    module = ModuleType("page_methods")
    for code in blocks("python", ROOT / "docs" / "reference" / "derived_methods.md"):
        exec(compile(code, "docs/reference/derived_methods.md", "exec", dont_inherit=True), module.__dict__)
    return module.IA3


def test_ia3_keeps_its_contract(ia3: Any, tmp_path: Path) -> None:
    family = BertFamily()
    backbone = family.find("bert/random-1/32", Workspace(tmp_path / "runs", tmp_path / "cache"))
    check_method(ia3, tmp_path, backbone=backbone, family=family)


def test_scales_are_merged_into_an_ordinary_bert(ia3: Any, tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    extra = [("bert", benchrunner_bert), ("own", own(register_methods=[ia3]))]
    plugins = discover(extra=extra, installed=False)
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data")
    runner = Runner(plugins, workspace, Computing("cpu"))
    task = plugins.tasks.find("mood")
    fits = {}
    for name, rate in (("before", 0.0), ("after", 0.1)):
        fits[name] = runner.planner.plan(task, "bert/random-1/32", method="ia3", recipe=QUICK.changed(lr=rate))
        assert runner.run(fits[name]).status == "done"
    folders = {name: runner.folder(fit).model for name, fit in fits.items()}
    before, after = (BertModel.from_pretrained(folder).eval() for folder in folders.values())
    weights = before.state_dict()
    for name, weight in after.state_dict().items():
        ratio = weight / weights[name]
        if name.endswith(SCALED):
            assert torch.allclose(ratio, ratio[:, :1].expand_as(ratio), rtol=1e-5) and ratio.std() > 1e-3
        elif name.endswith("output.dense.weight") and "attention" not in name:
            assert torch.allclose(ratio, ratio[:1].expand_as(ratio), rtol=1e-5) and ratio.std() > 1e-3
        elif "pooler" not in name and not name.endswith(("self.key.bias", "self.value.bias")):
            assert torch.equal(weight, weights[name]), name
    texts = task.load("dev", workspace).table.column("a").to_pylist()
    tokens = AutoTokenizer.from_pretrained(folders["after"])(texts, padding=True, return_tensors="pt")
    head = load_file(folders["after"] / "head.safetensors")
    with torch.no_grad():
        logits = after(**tokens).pooler_output @ head["output.weight"].T + head["output.bias"]
    outputs = raw_outputs(fits["after"], runner.planner.rows(task, "dev"), runner)
    np.testing.assert_allclose(outputs, logits.numpy(), atol=1e-5)
