"""Somebody's checkpoints that DeepSpeed wrote: read without running code from them, and exported."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pretraining_runs import samples
from safetensors.torch import load_file
from zero_samples import SAMPLES

from benchrunner import Workspace
from benchrunner.command_line.main import main
from benchrunner.workspace import Settings
from benchrunner_bert.checkpoint import read
from benchrunner_bert.family import BertFamily
from benchrunner_bert.pretraining.deepspeed import zero_checkpoint
from benchrunner_bert.weight_names import published_names

SHARED = ("theirs-2-bf16", "theirs-3-bf16")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All samples of one process."""
    return samples(tmp_path_factory.mktemp("alone"), *SAMPLES)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples of two processes."""
    return samples(tmp_path_factory.mktemp("shared"), *SHARED, processes=2)


def tag(sample: Path) -> Path:
    """The folder of a sample's files."""
    return sample / "global_step2"


def check(sample: Path) -> None:
    """Bit for bit what the engine gathered, under every name; rounded where the files have no other weights."""
    found, wanted = zero_checkpoint.read(tag(sample)), load_file(sample / "reference.safetensors")
    _, stage, kind = sample.name.split("-")
    assert found.steps == 2 and found.rounded == (kind == "bf16" and stage in "01")
    for name, one in wanted.items():
        assert one.dtype == found.tensors[name].dtype == torch.float32
        assert torch.equal(found.tensors[name], one), name
    twins = ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight")
    assert torch.equal(*(found.tensors[name] for name in twins))


@pytest.mark.parametrize("name", SAMPLES)
def test_shards_become_the_weights_that_the_engine_gathers(alone: Path, name: str) -> None:
    check(alone / name)


@pytest.mark.parametrize("name", SHARED)
def test_shards_of_two_processes_are_put_together(shared: Path, name: str) -> None:
    check(shared / name)


@pytest.mark.slow
def test_shards_of_two_processes_are_put_together_at_every_stage(tmp_path: Path) -> None:
    samples(tmp_path, *SAMPLES, processes=2)
    for name in SAMPLES:
        check(tmp_path / name)


# Export


def exported(source: Path, target: Path) -> Path:
    assert main(["runs", "export", str(source), str(target)]) == 0
    return target


@pytest.mark.parametrize("name", SHARED)
def test_an_exported_checkpoint_loads_here_and_in_transformers(
    shared: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers import AutoTokenizer, BertForPreTraining

    out = exported(shared / name, tmp_path / "out")
    assert "published layout" in capsys.readouterr().out
    assert BertFamily().find(str(out), Workspace(tmp_path, tmp_path, settings=Settings(offline=True))) is not None
    bert, wanted = read(out, seed=0), load_file(shared / name / "reference.safetensors")
    for ours, theirs in published_names(bert):
        assert torch.equal(bert.get_parameter(ours), torch.cat([wanted[f"bert.{one}"] for one in theirs])), ours
    assert len(AutoTokenizer.from_pretrained(out)) == bert.tokenizer.size
    other, found = BertForPreTraining.from_pretrained(out, output_loading_info=True)
    assert not any(found[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert all(torch.equal(one, wanted[key]) for key, one in other.named_parameters())
    assert "steps: 2. Weights: fp32." in (out / "README.md").read_text()


def test_names_that_a_wrapper_made_longer_are_understood(alone: Path, tmp_path: Path) -> None:
    sample = copied(alone / "theirs-0-fp32", tmp_path)
    path = tag(sample) / "mp_rank_00_model_states.pt"
    content = torch.load(path, weights_only=False)
    torch.save(content | {"module": {f"module.{name}": one for name, one in content["module"].items()}}, path)
    names = load_file(exported(tag(sample), tmp_path / "out") / "model.safetensors").keys()
    assert names == {name.removeprefix("module.") for name in names}


def test_export_without_fp32_weights_says_it_is_half_precision(alone: Path, tmp_path: Path) -> None:
    exported(alone / "theirs-0-bf16", tmp_path / "out")
    assert "fp32, some of them from half precision" in (tmp_path / "out" / "README.md").read_text()


# What is refused


def copied(sample: Path, folder: Path) -> Path:
    shutil.copytree(sample, folder / sample.name)
    return folder / sample.name


def share(rank: int, *, half: bool = True) -> str:
    return f"{'bf16_' if half else ''}zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"


def refused(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says; nothing is written."""
    assert main(["runs", "export", str(source), str(tmp_path / "refused")]) == 2
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
    assert f"{tag(sample)} holds posix.system" in refused(sample, tmp_path, capsys)
    assert not (tmp_path / "ran").exists()
    torch.load(path, weights_only=False)
    assert (tmp_path / "ran").exists(), "it would have run"
    path.write_bytes(pickle.dumps(Malicious(f"touch {tmp_path / 'too'}")))
    assert str(tag(sample)) in refused(sample, tmp_path, capsys)
    assert not (tmp_path / "too").exists()


def test_a_missing_or_foreign_share_is_named(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = copied(shared / "theirs-3-bf16", tmp_path)
    shutil.copy(tag(sample) / share(1), tag(sample) / share(2))
    assert "Expected 2 of '*_optim_states.pt'" in refused(tag(sample), tmp_path, capsys)
    (tag(sample) / share(2)).unlink()
    (tag(sample) / "zero_pp_rank_1_mp_rank_00_model_states.pt").unlink()
    assert "are the files of all machines there?" in refused(tag(sample), tmp_path, capsys)


def test_a_cut_file_is_named(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = copied(shared / "theirs-2-bf16", tmp_path)
    path = tag(sample) / share(1)
    path.write_bytes(path.read_bytes()[:-500])
    assert f"{tag(sample)}: not a checkpoint that can be read" in refused(sample, tmp_path, capsys)


def test_what_is_missing_beside_somebodys_weights_is_said(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(alone / "theirs-1-fp32", tmp_path / "in")
    vocabulary, config = sample / "vocab.txt", json.loads((sample / "config.json").read_text())
    vocabulary.rename(tmp_path / "in" / "vocab.txt")  # still found: beside the folder
    exported(sample, tmp_path / "out")
    (tmp_path / "in" / "vocab.txt").unlink()
    assert "put the model's tokenizer.json or vocab.txt beside it" in refused(sample, tmp_path, capsys)
    shutil.copy(alone / "theirs-1-fp32" / "vocab.txt", vocabulary)
    for change, reason in (
        ({"intermediate_size": 24}, "intermediate.dense.weight: (23, 12) where the configuration asks for (24, 12)"),
        ({"num_hidden_layers": 3}, "missing: encoder.layer.2.attention.self.query.weight"),
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
    assert "latest names none of the checkpoints there" in refused(sample, tmp_path, capsys)
    (sample / "latest").unlink()
    assert "name the folder of one (global_step2)" in refused(sample, tmp_path, capsys)
    exported(tag(sample), tmp_path / "out")
    (tmp_path / "empty").mkdir()
    assert "neither a finished fit (it has no fit.json) nor" in refused(tmp_path / "empty", tmp_path, capsys)


def test_weights_that_are_not_finite_are_not_exported(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = copied(alone / "theirs-1-fp32", tmp_path)
    path = tag(sample) / share(0, half=False)
    content = torch.load(path, weights_only=False)
    content["optimizer_state_dict"]["single_partition_of_fp32_groups"][0].data.fill_(torch.nan)
    torch.save(content, path)
    assert "no finite number" in refused(sample, tmp_path, capsys)
