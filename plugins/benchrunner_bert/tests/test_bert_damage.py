"""Damaged and absurd BERT checkpoints are refused before the first fit, with the file and without taking memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from bert_samples import FIRST, fresh

from bad_checkpoints import DAMAGES, Damage, check_damage, check_hostile, tokenizer
from benchrunner import RequestError, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.family import BertFamily
from benchrunner_bert.model import Bert
from benchrunner_bert.tokenizer import BertTokenizer


def other_model(kind: str) -> Damage:
    """Give tokenizer.json a model of another kind with the same vocabulary."""

    def change(content: dict[str, object]) -> None:
        model = content["model"]
        assert isinstance(model, dict)
        vocabulary = {token: number for number, token in enumerate(model["vocab"])}
        models: dict[str, dict[str, object]] = {
            "BPE": {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": "[UNK]"},
            "Unigram": {"type": "Unigram", "unk_id": 1, "vocab": [[token, 0.0] for token in vocabulary]},
        }
        content["model"] = models[kind]

    return tokenizer(change)


def unknown(token: str) -> Damage:
    return tokenizer(lambda content: content["model"].update(unk_token=token))


ENDLESS = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "a"}
OWN = {
    "BPE": (other_model("BPE"), "the tokenizer's model is BPE, where BERT has WordPiece"),
    "expressions": (
        tokenizer(lambda content: content.update(normalizer=ENDLESS)),
        "the tokenizer's model is WordPiece with regular expressions",
    ),
    "Unigram": (other_model("Unigram"), "the tokenizer's model is Unigram"),
    "an unknown token that is missing": (unknown("[OOV]"), "the unknown token '[OOV]' is not in the vocabulary"),
}
CASES = {**DAMAGES, **OWN}
FAST = {
    *("int8", "bool", "NaN in a rare word", "bin of complex", "compressed bin", "half a file", "a pipe", "BPE"),
    *("10^9 layers", "width 20,000 x 50", "inner 10^7", "prepends 1 MB", "an id of 4 * 10^9"),
    *("an unknown token that is missing", "expressions"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    fresh(hidden=8, heads=2, inner=16).save(folder)
    return folder


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in CASES])
def test_a_damaged_checkpoint_is_refused_with_its_file(original: Path, tmp_path: Path, name: str) -> None:
    check_damage(BertFamily(), original, tmp_path, *CASES[name], kilobytes=150_000)


def test_a_whole_checkpoint_is_checked_once(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone, _ = discover().backbone_search.find(str(original), workspace)
    revision = backbone.revision(workspace)
    monkeypatch.setattr("benchrunner_bert.checkpoint.read", None)
    assert backbone.revision(workspace) == revision


@pytest.mark.parametrize("size", ["1000000/128", "24/1000000/1", "1000000000/1000000000/1"])
def test_fresh_models_that_need_too_much_memory_are_refused(size: str, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache")
    with pytest.raises(RequestError, match=f"The fresh model bert/random-{size} has .* weights, which need .* GB"):
        BertFamily().find(f"bert/random-{size}", workspace)
    assert BertFamily().find("bert/random-24/1024", workspace) is not None


def test_the_reckoned_number_of_weights_is_that_of_the_model(original: Path) -> None:
    words = BertTokenizer.read(original)
    with torch.device("meta"):
        for config in (Configuration(hidden=24, heads=2, layers=3, inner=7), Configuration()):
            assert config.weights == sum(weight.numel() for weight in Bert(config, words).parameters())


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_every_floating_type_of_published_weights_is_read(original: Path, tmp_path: Path, kind: torch.dtype) -> None:
    from safetensors.torch import load_file, save_file

    from benchrunner_bert.checkpoint import read

    folder = Path(shutil.copytree(original, tmp_path / "checkpoint"))
    tensors = {name: tensor.to(kind) for name, tensor in load_file(folder / "model.safetensors").items()}
    tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler")}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert read(folder, seed=0).assemble(FIRST, None, 16).tokens.size
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == 8


@pytest.mark.slow
def test_hostile_checkpoints_end_in_one_sentence(original: Path, tmp_path: Path) -> None:
    check_hostile("bert", original, tmp_path, at_least=200)
