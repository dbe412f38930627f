"""DeepSpeed's own checkpoints: read without it and without its pickles, exported, written and gone on from."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")

from pretraining_runs import line, samples
from zero_samples import SAMPLES

from benchrunner import CheckpointError, Workspace
from benchrunner.workspace import Settings
from benchrunner_bert.checkpoint import read
from benchrunner_bert.family import BertFamily
from benchrunner_bert.pretraining.deepspeed import zero_checkpoint, zero_files
from benchrunner_bert.pretraining.export import conversion
from benchrunner_bert.weight_names import published_names


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All samples of one process."""
    return samples(tmp_path_factory.mktemp("alone"), *SAMPLES)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two samples of two processes."""
    return samples(tmp_path_factory.mktemp("shared"), "theirs-2-bf16", "ours-3-bf16", processes=2)


def tag(sample: Path) -> Path:
    """The folder of a sample's files."""
    return sample / ("step-2" if sample.name.startswith("ours") else "global_step2")


def check(sample: Path, *, processes: int) -> None:
    """Bit for bit what the engine gathered, under every name."""
    found, wanted = zero_checkpoint.read(tag(sample)), load_file(sample / "reference.safetensors")
    assert (found.stage, found.processes, found.steps) == (int(sample.name.split("-")[1]), processes, 2)
    assert not found.rounded
    for name, one in wanted.items():
        assert one.dtype == found.tensors[name].dtype == torch.float32
        assert torch.equal(found.tensors[name], one), name
    twins = ("tokens.output.weight", "bert.embeddings.word.weight")
    if sample.name.startswith("theirs"):
        twins = ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight")
    assert torch.equal(*(found.tensors[name] for name in twins))


@pytest.mark.parametrize("name", SAMPLES)
def test_shards_become_the_weights_that_the_engine_gathers(alone: Path, name: str) -> None:
    check(alone / name, processes=1)


@pytest.mark.parametrize("name", ["theirs-2-bf16", "ours-3-bf16"])
def test_shards_of_two_processes_are_put_together_without_them(shared: Path, name: str) -> None:
    check(shared / name, processes=2)


@pytest.mark.slow
def test_shards_of_two_processes_are_put_together_at_every_stage(tmp_path: Path) -> None:
    samples(tmp_path, *SAMPLES, processes=2)
    for name in SAMPLES:
        check(tmp_path / name, processes=2)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_deepspeeds_own_recovery_finds_the_same_weights(alone: Path, shared: Path) -> None:
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

    sharded = [alone / name for name in SAMPLES if "-0-" not in name]
    for sample in (*sharded, *(shared / name for name in ("theirs-2-bf16", "ours-3-bf16"))):
        found = zero_checkpoint.read(tag(sample)).tensors
        theirs = get_fp32_state_dict_from_zero_checkpoint(str(sample), tag=tag(sample).name)
        # At stage 1 it knows nothing of what was frozen.
        assert theirs.keys() <= found.keys()
        assert all(torch.equal(found[name], one.float()) for name, one in theirs.items())
        assert theirs.keys() == found.keys() or (found.keys() - theirs.keys() and "-1-" in sample.name)


# Export


def exported(line: Callable[..., int], source: Path, target: Path) -> Path:
    assert line("export", str(source), str(target)) == 0
    return target


@pytest.mark.parametrize("name", ["ours-3-bf16", "theirs-2-bf16"])
def test_an_exported_checkpoint_loads_here_and_in_transformers(
    shared: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers import AutoTokenizer, BertForMaskedLM, BertForPreTraining

    source = shared / name if name.startswith("theirs") else tag(shared / name)
    out = exported(line, source, tmp_path / "out")
    assert "published layout" in capsys.readouterr().out
    assert BertFamily().find(str(out), Workspace(tmp_path, tmp_path, settings=Settings(offline=True))) is not None
    bert, wanted = read(out, seed=0), load_file(shared / name / "reference.safetensors")
    for ours, theirs in published_names(bert):
        names = [f"bert.{one}" for one in theirs] if name.startswith("theirs") else [f"bert.{ours}"]
        if not ours.startswith("pooler.") or name.startswith("theirs"):  # nothing trained ours
            assert torch.equal(bert.get_parameter(ours), torch.cat([wanted[one] for one in names])), ours
    assert len(AutoTokenizer.from_pretrained(out)) == bert.tokenizer.size
    kind = BertForPreTraining if name.startswith("theirs") else BertForMaskedLM
    other, found = kind.from_pretrained(out, output_loading_info=True)
    assert not any(found[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    if name.startswith("theirs"):
        assert all(torch.equal(one, wanted[key]) for key, one in other.named_parameters())
        assert "ZeRO stage 2, processes: 2, steps: 2. Weights: fp32." in (out / "README.md").read_text()
    else:
        assert "| steps | 2 at length 32 |" in (out / "README.md").read_text()


def test_names_that_a_wrapper_made_longer_are_understood(alone: Path, tmp_path: Path) -> None:
    sample = copied(alone / "theirs-0-fp32", tmp_path)
    path = tag(sample) / "mp_rank_00_model_states.pt"
    content = torch.load(path, weights_only=False)
    content["module"] = {f"module.{name}": one for name, one in content["module"].items()}
    torch.save(content, path)
    exported(line, tag(sample), tmp_path / "out")
    names = load_file(tmp_path / "out" / "model.safetensors").keys()
    assert "bert.pooler.dense.bias" in names and not any(name.startswith("module.") for name in names)


def test_export_without_fp32_weights_says_it_is_half_precision(alone: Path, tmp_path: Path) -> None:
    sample = copied(alone / "theirs-0-bf16", tmp_path)
    path = tag(sample) / "mp_rank_00_model_states.pt"
    content = torch.load(path, weights_only=False)
    content["optimizer"] = None
    torch.save(content, path)
    exported(line, sample, tmp_path / "out")
    assert "those of the half-precision module" in (tmp_path / "out" / "README.md").read_text()


# What is refused


def copied(sample: Path, folder: Path) -> Path:
    shutil.copytree(sample, folder / sample.name)
    return folder / sample.name


def share(rank: int, *, half: bool = True) -> str:
    return f"{'bf16_' if half else ''}zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"


def refused(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says; nothing is written."""
    assert line("export", str(source), str(tmp_path / "refused")) == 2
    assert not (tmp_path / "refused").exists()
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


class Malicious:
    """Runs a command where it is read by pickle."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (self._command,)


@pytest.mark.parametrize("name", ["mp_rank_00_model_states.pt", share(1)])
def test_a_malicious_pickle_is_refused_and_not_executed(
    shared: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(shared / "theirs-2-bf16", tmp_path)
    path = tag(sample) / name
    content = torch.load(path, weights_only=False)
    torch.save({**content, "more": Malicious(f"touch {tmp_path / 'ran'}")}, path)
    assert f"{path} holds posix.system" in refused(sample, tmp_path, capsys)
    assert not (tmp_path / "ran").exists()
    torch.load(path, weights_only=False)
    assert (tmp_path / "ran").exists(), "it would have run"
    path.write_bytes(pickle.dumps(Malicious(f"touch {tmp_path / 'too'}")))
    assert str(path) in refused(sample, tmp_path, capsys)
    assert not (tmp_path / "too").exists()


def test_a_class_that_is_not_listed_is_named(alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = copied(alone / "theirs-3-fp32", tmp_path)
    path = tag(sample) / "zero_pp_rank_0_mp_rank_00_model_states.pt"
    torch.save({**torch.load(path, weights_only=False), "arguments": SimpleNamespace(lr=1)}, path)
    said = refused(sample, tmp_path, capsys)
    assert "types.SimpleNamespace" in said and "client_state" in said and all(one in said for one in zero_files.CLASSES)


def test_a_missing_or_foreign_share_is_named(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = copied(shared / "ours-3-bf16", tmp_path)
    moved = (tag(sample) / share(1)).rename(tag(sample) / share(2))
    assert "optim_states.pt is missing for N = 1 (the first process's file says that 2" in refused(
        tag(sample), tmp_path, capsys
    )
    shutil.copy(moved, tag(sample) / share(1))
    assert f"{share(2)} is of another checkpoint" in refused(tag(sample), tmp_path, capsys)
    moved.unlink()
    (tag(sample) / "zero_pp_rank_1_mp_rank_00_model_states.pt").unlink()
    assert "model_states.pt is missing for N = 1" in refused(tag(sample), tmp_path, capsys)
    (tag(sample) / "zero_pp_rank_0_mp_rank_00_model_states.pt").unlink()
    assert "no fit.json" in refused(tag(sample), tmp_path, capsys)


@pytest.mark.parametrize("size", [0, -500])
def test_a_cut_file_is_named(shared: Path, tmp_path: Path, size: int, capsys: pytest.CaptureFixture[str]) -> None:
    sample = copied(shared / "theirs-2-bf16", tmp_path)
    path = tag(sample) / share(1)
    path.write_bytes(path.read_bytes()[:size])
    assert f"{path} cannot be read: it is cut or damaged" in refused(sample, tmp_path, capsys)


def change(path: Path, **values: Any) -> None:
    content = torch.load(path, weights_only=False)
    content["optimizer_state_dict"] |= values
    torch.save(content, path)


def test_shares_of_several_checkpoints_are_not_mixed(
    shared: Path, alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(shared / "theirs-2-bf16", tmp_path)
    path = tag(sample) / share(1)
    change(path, partition_count=[4])
    assert "process 1's share is one of [4], but 2 wrote the checkpoint" in refused(sample, tmp_path, capsys)
    change(path, partition_count=[2], zero_stage=1)
    assert "shares of the ZeRO stages [1, 2]" in refused(sample, tmp_path, capsys)
    change(path, zero_stage=2, single_partition_of_fp32_groups=[torch.zeros(7)])
    assert "group 0 of the parameters has" in refused(sample, tmp_path, capsys)
    shutil.copy(path, tag(sample) / share(1, half=False))
    assert "are of two checkpoints; keep one" in refused(sample, tmp_path, capsys)
    third = copied(shared / "ours-3-bf16", tmp_path)
    change(tag(third) / share(1), fp32_flat_groups=[torch.zeros(7)])
    assert "were expected of each: the files are of several checkpoints" in refused(tag(third), tmp_path, capsys)
    shutil.copy(tag(shared / "ours-3-bf16") / share(1), tag(third) / share(1))
    change(tag(third) / share(1), fp32_flat_groups="nonsense")
    assert "not a checkpoint that this version can read" in refused(tag(third), tmp_path, capsys)


def test_a_model_that_was_split_over_processes_is_refused(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(alone / "theirs-0-fp32", tmp_path)
    shutil.copy(tag(sample) / "mp_rank_00_model_states.pt", tag(sample) / "mp_rank_01_model_states.pt")
    assert "a part of a model that was split over processes" in refused(tag(sample), tmp_path, capsys)


def test_what_is_missing_beside_somebodys_weights_is_said(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(alone / "theirs-1-fp32", tmp_path / "in")
    vocabulary, config = sample / "vocab.txt", json.loads((sample / "config.json").read_text())
    vocabulary.rename(tmp_path / "in" / "vocab.txt")  # still found: beside the folder
    exported(line, sample, tmp_path / "out")
    (tmp_path / "in" / "vocab.txt").unlink()
    assert "put the model's tokenizer.json or vocab.txt beside it" in refused(sample, tmp_path, capsys)
    shutil.copy(alone / "theirs-1-fp32" / "vocab.txt", vocabulary)
    for change, reason in (
        ({"intermediate_size": 24}, f"intermediate.dense.weight: (23, 12) where {sample.resolve()}/config.json"),
        ({"num_hidden_layers": 3}, "missing: encoder.layer.2.attention.self.query.weight"),
        ({"num_hidden_layers": 1}, "unexpected: encoder.layer.1.attention.self.query.weight"),
        ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
    ):
        (sample / "config.json").write_text(json.dumps({**config, **change}))
        assert reason in refused(sample, tmp_path, capsys)
    (sample / "config.json").unlink()
    assert "put the model's config.json beside it" in refused(sample, tmp_path, capsys)


def test_a_folder_of_several_checkpoints_needs_one_to_be_named(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(alone / "theirs-1-fp32", tmp_path)
    (sample / "latest").write_text("global_step4")
    assert "latest names 'global_step4', which is not there" in refused(sample, tmp_path, capsys)
    (sample / "latest").unlink()
    assert "name the folder of one of its checkpoints (global_step2)" in refused(sample, tmp_path, capsys)
    exported(line, tag(sample), tmp_path / "out")
    (tmp_path / "empty").mkdir()
    assert "neither a finished fit (it has no fit.json) nor" in refused(tmp_path / "empty", tmp_path, capsys)


def test_weights_that_are_not_finite_are_not_exported(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(alone / "theirs-1-fp32", tmp_path)
    path = tag(sample) / share(0, half=False)
    row = torch.load(path, weights_only=False)["optimizer_state_dict"]["single_partition_of_fp32_groups"][0]
    change(path, single_partition_of_fp32_groups=[row.detach().clone().fill_(torch.nan)])
    assert "no finite number" in refused(sample, tmp_path, capsys)


def test_what_our_own_checkpoint_says_of_itself_is_checked(alone: Path, tmp_path: Path) -> None:
    sample = copied(alone / "ours-0-fp32", tmp_path)
    path = tag(sample) / "mp_rank_00_model_states.pt"
    content = torch.load(path, weights_only=False)
    said = json.loads(content[zero_checkpoint.DESCRIPTION])
    wider = {**said["config"], "hidden_size": 13}
    for change in ({"objective": "mlm+nsp"}, {"config": wider}, {"vocabulary": "a\nb\n"}):
        torch.save({**content, zero_checkpoint.DESCRIPTION: json.dumps({**said, **change})}, path)
        with pytest.raises(CheckpointError, match=r"step-2: its description of the model does not fit its weights"):
            conversion.convert(tag(sample), tmp_path / "out")
    torch.save({**content, zero_checkpoint.DESCRIPTION: "nonsense"}, path)
    with pytest.raises(CheckpointError, match="step-2: its description"):
        conversion.convert(tag(sample), tmp_path / "out")
