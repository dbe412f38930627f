"""A real checkpoint of DeepSpeed's with the weights of its engine; and engines that go on.

To be started as a program, alone or by a launcher: DeepSpeed wants processes to itself.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import torch
from objective_samples import batch
from safetensors.torch import save_file

from benchrunner.engine import write_atomically
from benchrunner.features.randomness import generator
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.deepspeed.engine import Engine
from benchrunner_bert.pretraining.deepspeed.processes import join_processes
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.tokenizer import SPECIAL, BertTokenizer

WORDS = [*SPECIAL, "the", "old", "house", "stood", "at", "end", "of", "lane", "no", "she", "said", "he", "dog", "man"]
SIZES = {"hidden": 12, "layers": 2, "heads": 2, "inner": 23, "positions": 61}
"""Odd numbers, so that two processes cannot share them without padding."""
SMALL = {"reduce_bucket_size": 10_000}
"""A buffer for gradients, which otherwise takes two gigabytes."""


def write(folder: Path, stage: int, kind: str) -> None:
    """A checkpoint after two steps that DeepSpeed's own script made whole, and reference.safetensors beside it."""
    from deepspeed.utils.zero_to_fp32 import convert_zero_checkpoint_to_fp32_state_dict

    engine = _theirs(folder, stage, kind)
    engine.save_checkpoint(str(folder))
    convert_zero_checkpoint_to_fp32_state_dict(str(folder), str(folder))
    weights = {name: weight.detach().contiguous() for name, weight in engine.module.named_parameters()}
    save_file(weights, folder / "reference.safetensors")
    engine.destroy()


def _overrides(kind: str) -> dict[str, Any]:
    return {"bf16": {"enabled": True}} if kind == "bf16" else {}


def _fresh(folder: Path, stage: int, kind: str, *, seed: int = 1) -> tuple[PretrainingModel, Engine]:
    tokenizer = BertTokenizer.from_vocabulary(folder / "vocab.txt", lowercase=True)
    config = Configuration(vocabulary=len(WORDS), **SIZES)  # type: ignore[arg-type]
    model = PretrainingModel(Bert(config, tokenizer), OBJECTIVES["mlm"])
    model.draw(generator(seed, "pre-training"))
    with torch.no_grad():
        model.bert.pooler.bias.normal_(generator=generator(1, "test"))
    asked = {"zero_optimization": {"stage": stage, **SMALL}} if stage else {}  # which one process alone would not use
    return model, Engine(model, Settings(objective="mlm", zero=stage), {**asked, **_overrides(kind)})


def _learn(model: PretrainingModel, engine: Engine, step: int) -> None:
    given = batch(model)
    flat = dataclasses.replace(given.flat, tokens=given.flat.tokens % len(WORDS))
    given = dataclasses.replace(given, flat=flat, labels=given.labels % len(WORDS))
    engine.backward(engine(given).loss(7, 1), last=True)
    engine.step(step, 1e-2)


def check_going_on(folder: Path, stage: int, kind: str) -> None:
    """Another engine that gets the state has the same weights and moments, and learns the same from then on."""
    states = []
    saved = dict[str, torch.Tensor]()
    for seed in (1, 2):
        model, engine = _fresh(folder, stage, kind, seed=seed)
        if seed == 1:
            _learn(model, engine, 0)
            _learn(model, engine, 1)
            saved = {name: one.detach().clone() for name, one in engine.state()}
        else:
            engine.restore(saved)
        before = {name: one.detach().clone() for name, one in engine.state()}
        _learn(model, engine, 2)
        states.append((before, {name: one.detach().clone() for name, one in engine.state()}))
        engine._engine.destroy()
    for one, other in zip(*states, strict=True):
        assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    assert any(not torch.equal(states[0][0][name], states[0][1][name]) for name in states[0][0])


def _theirs(folder: Path, stage: int, kind: str) -> Any:
    """As somebody trains transformers' BERT: one group of parameters, a scheduler, their own client state."""
    from transformers import BertConfig, BertForPreTraining

    deepspeed = join_processes()  # without DeepSpeed's compiled all-reduce, which a killed test would leave locked

    torch.manual_seed(2)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=23,
        max_position_embeddings=61,
        dtype="bfloat16",
    )
    model = BertForPreTraining(config)
    model.bert.pooler.requires_grad_(False)
    settings = {
        "train_micro_batch_size_per_gpu": 2,
        "optimizer": {"type": "Adam", "params": {"lr": 1e-2, "torch_adam": True}},
        "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-2, "warmup_max_lr": 2e-2}},
        "zero_optimization": {"stage": stage, **SMALL},
        **_overrides(kind),
    }
    trained = [one for one in model.parameters() if one.requires_grad]
    engine = deepspeed.initialize(model=model, model_parameters=trained, config=settings)[0]
    tokens = torch.randint(0, len(WORDS), (2, 9), generator=torch.Generator().manual_seed(engine.global_rank))
    for _ in range(2):
        found = engine(input_ids=tokens, labels=tokens, next_sentence_label=torch.tensor([0, 1]))
        engine.backward(found.loss)
        engine.step()
    if torch.distributed.get_rank() == 0:
        config.save_pretrained(folder)
    return engine


def _write_vocabulary(path: Path) -> None:
    path.write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")


def main(folder: Path, *names: str) -> None:
    """Write the samples that are named, such as theirs-2-fp32, or go on with another engine (on-3-bf16)."""
    for name in names:
        model, stage, kind = name.split("-")
        (folder / name).mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name / "vocab.txt", _write_vocabulary)  # two processes write the same file
        if model == "on":
            check_going_on(folder / name, int(stage), kind)
        else:
            write(folder / name, int(stage), kind)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
