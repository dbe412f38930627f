"""Checkpoints are read strictly: what is old is understood, what is foreign or broken is named."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from bert_samples import fresh
from safetensors.torch import load_file, save_file

from benchrunner import BenchrunnerError, CheckpointError, Workspace
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


def test_constants_that_others_store_are_passed_over(folder: Path) -> None:
    def add(tensors: Tensors) -> Tensors:
        workspace = torch.arange(64)[None]
        return {
            **tensors,
            "embeddings.position_ids": workspace,
            "embeddings.token_type_ids": torch.zeros_like(workspace),
        }

    again = read(changed(folder, add), seed=0)
    assert same(again, fresh()) and again.notes == ()


def test_half_precision_weights_are_read_as_single_precision(folder: Path) -> None:
    again = read(changed(folder, lambda tensors: {name: one.half() for name, one in tensors.items()}), seed=0)
    assert {one.dtype for one in again.parameters()} == {torch.float32}
    assert torch.equal(again.pooler.weight.detach(), fresh().pooler.weight.detach().half().float())


def test_a_head_of_another_task_is_left_out_and_said(folder: Path) -> None:
    def add(tensors: Tensors) -> Tensors:
        heads = ("cls.predictions.bias", "cls.seq_relationship.weight", "classifier.weight", "qa_outputs.bias")
        prefixed = {f"bert.{name}": one for name, one in tensors.items()}
        return prefixed | {name: torch.zeros(2, 48) for name in heads}

    again = read(changed(folder, add), seed=0)
    assert same(again, fresh())
    said = "left out of model.safetensors: a head of another task (classifier.weight, qa_outputs.bias)"
    assert again.notes == (said,), "pre-training's heads are nothing to speak of"


def test_a_missing_pooler_is_drawn_from_the_seed_and_said(folder: Path) -> None:
    changed(folder, lambda tensors: {name: one for name, one in tensors.items() if "pooler" not in name})
    first, again, other = (read(folder, seed=seed) for seed in (1, 1, 2))
    assert first.notes == ("the checkpoint has no pooler; a fresh one is drawn from the seed",)
    assert same(first, again) and not same(first, other)
    weight = first.pooler.weight.detach()
    assert 0.015 < weight.std().item() < 0.02 and weight.abs().max() <= 0.04 and not first.pooler.bias.any()
    assert torch.equal(first.embeddings.word.weight, fresh().embeddings.word.weight)


# .bin files


def as_bin(folder: Path, value: object) -> Path:
    (folder / "model.safetensors").unlink()
    torch.save(value, folder / "pytorch_model.bin")
    return folder


@pytest.mark.parametrize("as_parameters", [False, True])
def test_an_old_bin_file_is_the_same_model(folder: Path, as_parameters: bool) -> None:
    tensors = {f"bert.{old_norm(name)}": one for name, one in load_file(folder / "model.safetensors").items()}
    kind = torch.nn.Parameter if as_parameters else torch.Tensor
    again = read(as_bin(folder, {name: kind(one) for name, one in tensors.items()}), seed=0)
    assert same(again, fresh())
    assert all(one.is_leaf and one.requires_grad for one in again.parameters())


def test_safetensors_are_read_where_both_files_are_there(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    assert same(read(folder, seed=0), fresh())


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
    with pytest.raises(CheckpointError, match="the weights cannot be read"):
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
        del tensors["encoder.layer.0.attention.self.key.weight"]
        tensors["encoder.layer.2.output.dense.bias"] = torch.zeros(48)
        tensors["encoder.layer.0.attention.self.value.weight"] = torch.zeros(48, 47)
        tensors["encoder.layer.0.attention.self.query.bias"] = torch.zeros(())
        tensors["embeddings.position_embeddings.weight"] = torch.zeros(65, 48)
        return tensors

    with pytest.raises(CheckpointError) as error:
        read(changed(folder, spoil), seed=0)
    assert str(error.value).splitlines() == [
        f"{folder}/model.safetensors does not hold this BERT:",
        "  - missing: encoder.layer.0.attention.self.key.weight",
        "  - missing: encoder.layer.1.output.dense.bias",
        "  - unexpected: encoder.layer.2.output.dense.bias",
        "  - embeddings.position_embeddings.weight: (65, 48) where the configuration asks for (64, 48)",
        "  - encoder.layer.0.attention.self.value.weight: (48, 47) where the configuration asks for (48, 48)",
        "  - encoder.layer.0.attention.self.query.bias: () where the configuration asks for (48,)",
    ]


@pytest.mark.parametrize("left", [0, 8, -1])
def test_a_truncated_file_of_weights_is_a_clear_error(folder: Path, left: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(CheckpointError, match=r"model\.safetensors: the weights cannot be read"):
        read(folder, seed=0)


# Configurations


@pytest.mark.parametrize("text", ["", "{", "[]", "\udcff"])
def test_a_broken_configuration_is_a_clear_error(folder: Path, tmp_path: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode(errors="surrogateescape"))
    workspace = Workspace(runs=tmp_path, cache=tmp_path)
    for attempt in (lambda: read(folder, seed=0), lambda: BertFamily().find(str(folder), workspace)):
        with pytest.raises(CheckpointError, match=r"config\.json:(1: not valid JSON| a JSON object|1: not UTF-8)"):
            attempt()


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


def test_a_configuration_without_its_sizes_is_a_clear_error(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_size": 48}')
    with pytest.raises(CheckpointError, match="num_hidden_layers, num_attention_heads missing: is this a BERT"):
        read(folder, seed=0)


def test_what_a_configuration_leaves_out_is_as_published(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    kept = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")
    (folder / "config.json").write_text(json.dumps({name: config[name] for name in kept}))
    with pytest.raises(CheckpointError, match=r"\(96, 48\) where the configuration asks for \(192, 48\)"):
        read(folder, seed=0)
    (folder / "config.json").write_text(json.dumps({name: config[name] for name in kept} | {"intermediate_size": 96}))
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

    def revision(where: Path) -> str:
        return BertCheckpoint("mine", where).revision(workspace)

    first = revision(folder)
    copy = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    (copy / "README.md").write_text("not read")
    assert revision(copy) == first
    seen = {first}
    for name in ("vocab.txt", "tokenizer_config.json", "tokenizer.json", "config.json"):
        (copy / name).write_text((copy / name).read_text() + "\n")
        seen.add(revision(copy))
    changed(copy, lambda tensors: {name: one + 1 for name, one in tensors.items()})
    seen.add(revision(copy))
    assert len(seen) == 6
    (copy / "model.safetensors").unlink()
    with pytest.raises(BenchrunnerError, match="no weights"):
        revision(copy)
