"""Damaged and absurd BERT checkpoints are refused before the first fit, with the file and without taking memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from bert_samples import fresh
from safetensors.torch import load_file, save_file

from bad_checkpoints import DAMAGES, Damage, check_damage, check_hostile, tokenizer
from benchrunner import RequestError, Workspace
from benchrunner_bert.checkpoint import read
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.family import BertFamily
from benchrunner_bert.model import Bert
from benchrunner_bert.tokenizer import BertTokenizer


def other_model(kind: str, **settings: object) -> Damage:
    """Give tokenizer.json a model of another kind."""
    return tokenizer(lambda content: content.update(model={"type": kind, **settings}))


ENDLESS = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "a"}
OWN = {
    "BPE": (other_model("BPE", vocab={"[UNK]": 0}, merges=[]), "model is BPE, where BERT has WordPiece"),
    "expressions": (tokenizer(lambda content: content.update(normalizer=ENDLESS)), "with regular expressions"),
    "Unigram": (other_model("Unigram", unk_id=0, vocab=[["[UNK]", 0.0]]), "the tokenizer's model is Unigram"),
    "no unknown token": (
        tokenizer(lambda content: content["model"].update(unk_token="[OOV]")),
        "the unknown token '[OOV]' is not in the vocabulary",
    ),
}
CASES = {**DAMAGES, **OWN}
FAST = {
    *("int8", "bool", "NaN in a rare word", "bin of complex", "compressed bin", "half a file", "a pipe", "BPE"),
    *("10^9 layers", "width 20,000 x 50", "inner 10^7", "prepends 1 MB", "an id of 4 * 10^9"),
    *("no unknown token", "expressions"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    fresh(hidden=8, heads=2, inner=16).save(folder)
    return folder


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in CASES])
def test_a_damaged_checkpoint_is_refused_with_its_file(original: Path, tmp_path: Path, name: str) -> None:
    check_damage(BertFamily(), original, tmp_path, *CASES[name], kilobytes=150_000)


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
    folder = Path(shutil.copytree(original, tmp_path / "checkpoint"))
    tensors = {name: tensor.to(kind) for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    found, wanted = (read(folder, seed=0).pooler.weight for folder in (folder, original))
    assert found.dtype == torch.float32 and torch.equal(found, wanted.to(kind).float())


@pytest.mark.slow
def test_hostile_checkpoints_end_in_one_sentence(original: Path, tmp_path: Path) -> None:
    check_hostile("bert", original, tmp_path, at_least=200)
