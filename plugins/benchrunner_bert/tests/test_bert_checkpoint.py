"""Checkpoints are read strictly: what is old is understood, what is foreign or broken is named."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from bert_samples import fresh
from safetensors.torch import load_file, save_file

from benchrunner import CheckpointError, Workspace
from benchrunner_bert.backbones import BertCheckpoint
from benchrunner_bert.checkpoint import read
from benchrunner_bert.family import BertFamily
from benchrunner_bert.model import Bert

Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    fresh().save(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path, original: Path) -> Path:
    """A checkpoint that a test may spoil."""
    return Path(shutil.copytree(original, tmp_path / "checkpoint"))


def changed(folder: Path, change: Callable[[Tensors], Tensors]) -> Path:
    """The same checkpoint with other weights in it."""
    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def configured(folder: Path, **values: object) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))
    return folder


def same(one: Bert, other: Bert) -> bool:
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def renamed(rule: Callable[[str], str]) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {rule(name): one for name, one in tensors.items()}


def old_norm(name: str) -> str:
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


@pytest.mark.parametrize(
    "rule",
    [lambda name: name, lambda name: f"bert.{name}", old_norm, lambda name: f"bert.{old_norm(name)}"],
    ids=["as it is", "prefix", "gamma and beta", "prefix, gamma and beta"],
)
def test_old_and_new_spellings_are_the_same_model(folder: Path, rule: Callable[[str], str]) -> None:
    again = read(changed(folder, renamed(rule)), seed=0)
    assert same(again, fresh()) and again.notes == ()


def test_reading_imports_no_compiler(original: Path) -> None:
    """Drawing numbers on the device `meta` would: seconds of a core in each process that loads a model."""
    code = f"""import pathlib, sys
from benchrunner_bert.checkpoint import read
read(pathlib.Path({str(original)!r}), seed=0)
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_head_of_another_task_is_left_out_and_said(folder: Path) -> None:
    def add(tensors: Tensors) -> Tensors:
        heads = ("cls.predictions.bias", "cls.seq_relationship.weight", "classifier.weight", "qa_outputs.bias")
        prefixed = {f"bert.{name}": one for name, one in tensors.items()}
        constants = {"embeddings.position_ids": torch.arange(64)[None]}
        return prefixed | constants | {name: torch.zeros(2, 48) for name in heads}

    again = read(changed(folder, add), seed=0)
    assert same(again, fresh())
    said = "left out of model.safetensors: a head of another task (classifier.weight, qa_outputs.bias)"
    assert again.notes == (said,), "pre-training's heads and constants are nothing to speak of"


def test_a_missing_pooler_is_drawn_from_the_seed_and_said(folder: Path) -> None:
    changed(folder, lambda tensors: {name: one for name, one in tensors.items() if "pooler" not in name})
    first, again, other = (read(folder, seed=seed) for seed in (1, 1, 2))
    assert first.notes == ("the checkpoint has no pooler; a fresh one is drawn from the seed",)
    assert same(first, again) and not same(first, other)
    assert list(first.fresh_modules) == [first.pooler] and not fresh().fresh_modules
    assert torch.equal(first.embeddings.word.weight, fresh().embeddings.word.weight)


# .bin files


def as_bin(folder: Path, value: object) -> Path:
    (folder / "model.safetensors").unlink()
    torch.save(value, folder / "pytorch_model.bin")
    return folder


def test_an_old_bin_file_is_the_same_model(folder: Path) -> None:
    """Some hold parameters in place of tensors."""
    tensors = {f"bert.{old_norm(name)}": one for name, one in load_file(folder / "model.safetensors").items()}
    again = read(as_bin(folder, {name: torch.nn.Parameter(one) for name, one in tensors.items()}), seed=0)
    assert same(again, fresh()) and all(one.is_leaf and one.requires_grad for one in again.parameters())


class Malicious:
    """Leaves a file behind when a pickle loader that runs code opens it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_that_runs_code_is_refused_and_not_run(folder: Path, tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    as_bin(folder, {"bert.embeddings.word_embeddings.weight": Malicious(trap)})
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin: the weights cannot be read"):
        read(folder, seed=0)
    assert not trap.exists()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Malicious(trap)))
    with pytest.raises(CheckpointError):
        read(folder, seed=0)
    assert not trap.exists()
    pickle.loads(pickle.dumps(Malicious(trap)))
    assert trap.exists(), "the trap works"


@pytest.mark.parametrize("value", [[torch.zeros(1)], {"a": 1}, {"a": {"b": torch.zeros(1)}}, {1: torch.zeros(1)}])
def test_a_bin_file_that_holds_something_else_is_a_clear_error(folder: Path, value: object) -> None:
    with pytest.raises(CheckpointError, match="a flat table of tensors was expected"):
        read(as_bin(folder, value), seed=0)


# Weights that are not this model's


def test_missing_unexpected_and_misshapen_weights_are_all_listed(folder: Path) -> None:
    def spoil(tensors: Tensors) -> Tensors:
        del tensors["encoder.layer.1.output.dense.bias"]
        tensors["encoder.layer.2.output.dense.bias"] = torch.zeros(48)
        tensors["encoder.layer.0.attention.self.value.weight"] = torch.zeros(48, 47)
        tensors["encoder.layer.0.attention.self.query.bias"] = torch.zeros(())
        return tensors

    with pytest.raises(CheckpointError) as error:
        read(changed(folder, spoil), seed=0)
    assert str(error.value).splitlines() == [
        f"{folder}/model.safetensors does not hold this BERT:",
        "  - missing: encoder.layer.1.output.dense.bias",
        "  - unexpected: encoder.layer.2.output.dense.bias",
        "  - encoder.layer.0.attention.self.value.weight: (48, 47) where the configuration asks for (48, 48)",
        "  - encoder.layer.0.attention.self.query.bias: () where the configuration asks for (48,)",
    ]


# Configurations


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "config.json:1: not valid JSON"),
        (b"[]", "config.json: a JSON object"),
        (b"\xff", "config.json:1: not UTF-8"),
        (b'{"hidden_size": 48}', "num_hidden_layers, num_attention_heads missing: is this a BERT"),
    ],
)
def test_a_broken_configuration_is_a_clear_error(folder: Path, content: bytes, message: str) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        read(folder, seed=0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_attention_heads": 5}, "a hidden_size of 48 cannot be shared by 5 attention heads"),
        ({"num_hidden_layers": "two"}, "num_hidden_layers must be a whole number above zero, not 'two'"),
        ({"hidden_dropout_prob": 1.5}, "hidden_dropout_prob must be a number from 0 to below 1, not 1.5"),
        ({"hidden_act": "swish"}, "hidden_act 'swish' is none of gelu"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"is_decoder": True}, "is_decoder is True"),
        ({"vocab_size": 7000}, "the vocabulary has 8,000 pieces, the model only 7,000 embeddings"),
    ],
    ids=str,
)
def test_a_configuration_that_is_no_bert_is_a_clear_error(
    folder: Path, values: dict[str, object], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        read(configured(folder, **values), seed=0)


def test_what_a_configuration_leaves_out_is_as_published(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    for name in ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps"):
        del config[name]
    (folder / "config.json").write_text(json.dumps(config))
    found = read(folder, seed=0).config
    assert (found.activation, found.dropout, found.attention_dropout, found.epsilon) == ("gelu", 0.1, 0.1, 1e-12)


def test_a_folder_with_another_model_type_is_not_found_as_bert(folder: Path, tmp_path: Path) -> None:
    workspace = Workspace(runs=tmp_path, cache=tmp_path)
    assert isinstance(BertFamily().find(str(folder), workspace), BertCheckpoint)
    assert BertFamily().find(str(configured(folder, model_type="roberta")), workspace) is None
    (folder / "config.json").unlink()
    assert BertFamily().find(str(folder), workspace) is None


# Revisions


def test_the_revision_depends_only_on_the_files_that_are_read(folder: Path, tmp_path: Path) -> None:
    workspace = Workspace(runs=tmp_path, cache=tmp_path / "cache")
    copy = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    (copy / "README.md").write_text("not read")
    seen = [BertCheckpoint("mine", where).revision(workspace) for where in (folder, copy)]
    assert seen[0] == seen[1]
    for name in ("vocab.txt", "tokenizer_config.json", "tokenizer.json", "config.json"):
        (copy / name).write_text((copy / name).read_text() + "\n")
        seen.append(BertCheckpoint("mine", copy).revision(workspace))
    changed(copy, lambda tensors: {name: one + 1 for name, one in tensors.items()})
    seen.append(BertCheckpoint("mine", copy).revision(workspace))
    assert len(set(seen)) == 6
