"""Models by hub id, from a hub on this machine: whole, in several files, as a pickle, and offline afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from hub_client import asked
from safetensors.torch import load_file
from tiny_models import write_model

from hub_server import Hub


def _split(folder: Path, source: Path) -> None:
    """Write a model with its weights in two files and an index."""
    from safetensors.torch import save_file

    weights = load_file(source / "model.safetensors")
    folder.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    names = sorted(weights)
    files = {name: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, name in enumerate(names)}
    for file in set(files.values()):
        save_file({name: weights[name] for name in names if files[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))


def test_models_of_the_hub_are_found_again_offline(tmp_path: Path) -> None:
    models = tmp_path / "hub" / "models"
    whole = models / "FacebookAI" / "roberta-base"
    write_model("roberta", whole)
    _split(models / "somebody" / "split", whole)
    pickled = models / "somebody" / "pickled"
    _split(pickled, whole)
    for file in pickled.glob("model*"):
        file.unlink()
    torch.save(load_file(whole / "model.safetensors"), pickled / "pytorch_model.bin")
    foreign = models / "somebody" / "foreign"
    foreign.mkdir()
    (foreign / "config.json").write_text('{"model_type": "neobert", "auto_map": {"AutoModel": "model.NeoBERT"}}')
    write_model("bert", models / "somebody" / "bert")
    references = ["roberta-base", "somebody/split", "somebody/pickled", "somebody/foreign", "somebody/absent"]
    references += ["somebody/bert", "transformers:somebody/bert"]
    with Hub(tmp_path / "hub") as hub:
        online = asked(hub, tmp_path / "home", *references)
        others = [request for request in hub.requests if "FacebookAI" not in request and "somebody" not in request]
        assert set(others) <= {"HEAD /"}  # whether the hub can be reached
    named, split, pickle, refused, absent, bert, ours = online
    assert [answer["family"] for answer in (named, split, pickle, ours)] == ["TransformersFamily"] * 4
    assert bert["family"] == "BertFamily"
    assert named["total"] == split["total"] == pickle["total"]
    assert len({answer["revision"] for answer in (named, split, pickle)}) == 3, "other files"
    assert "asks for code of its own (auto_map), and transformers" in refused["error"]
    assert "somebody/absent" in absent["error"] and "\n" not in absent["error"]
    again = asked(hub, tmp_path / "home", *references, offline=True)
    assert again[:4] == online[:4] and again[5:] == online[5:]
    assert "\n" not in again[4]["error"]
