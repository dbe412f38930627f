"""Sequences a second of pre-training and the share of the machine's peak, beside a bare loop and transformers' Trainer.

python benchmarks/pretraining_speed.py --corpus PATH --vocab vocab.txt [--size base] [--lengths 128,512]

`engine` is `benchrunner pretrain` itself, through DeepSpeed; `bare` is the same model, instances and Adam in a few
lines: the difference is what the engine costs. The Trainer learns masked tokens alone, so all do; it gets the same
sequences, already cut, and masks them with its own collator. Every measurement is a process of its own, the systems
take turns, the first step is not counted. The peak is one large square product in the same precision, measured in the
same process. FLOPs are counted the same way for all: what the model needs, nothing for padding.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SYSTEMS = ("engine, ZeRO 0", "engine, ZeRO 1", "bare", "transformers")
SHARED = ["--objective", "mlm", "--input", "document", "--long-share", "0", "--blank-lines", "0", "--warmup", "2"]
SHARED += ["--checkpoint-steps", "999"]


def words(asked: argparse.Namespace, home: Path, length: int, zero: int) -> list[str]:
    """The command of the engine's run."""
    size = asked.tokens // length
    return [
        *("pretrain", asked.size, "--corpus", asked.corpus, "--vocab", asked.vocab, "--tokens", str(home / "tokens")),
        *("--out", str(home / f"{length}-{zero}"), "--runs", str(home / "runs"), "--length", str(length)),
        *("--steps", str(asked.steps + 1), "--batch-size", str(size), "--precision", asked.precision),
        *("--zero", str(zero), "--log-steps", "1", "--quiet", *SHARED),
    ]


def engine(asked: argparse.Namespace, home: Path, length: int, zero: int) -> dict[str, float]:
    """Of the log that the command leaves."""
    from benchrunner.command_line.main import main

    assert main(words(asked, home, length, zero)) == 0
    lines = (home / f"{length}-{zero}" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines][1:]
    return {
        "rate": statistics.harmonic_mean(one["sequences_per_second"] for one in found),
        "utilisation": statistics.harmonic_mean(one["utilisation"] for one in found),
    }


def instances(asked: argparse.Namespace, home: Path, length: int) -> tuple[Any, list[list[Any]]]:
    """The vocabulary, and the same sequences that the engine's run learns from, a list for each step."""
    from benchrunner_bert.pretraining.corpus import store_writer
    from benchrunner_bert.pretraining.corpus.corpus import Corpus
    from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
    from benchrunner_bert.pretraining.instances.instances import Instances
    from benchrunner_bert.pretraining.instances.masking import Masking
    from benchrunner_bert.pretraining.settings import Settings

    vocabulary = Vocabulary.read(Path(asked.vocab))
    store = store_writer.write(home / "tokens", Corpus.named((asked.corpus,), blank_lines=0), vocabulary)
    settings = Settings("mlm", "document", length=length)
    masking, size = Masking(vocabulary, settings), asked.tokens // length
    maker = Instances(store, vocabulary.tokenizer().frame, masking, settings, 0)
    steps = range(asked.steps + 1)
    return vocabulary, [[maker.make(index) for index in range(at * size, (at + 1) * size)] for at in steps]


def measured(asked: argparse.Namespace, config: Any, batches: list[list[Any]], seconds: float) -> dict[str, float]:
    """Rates over all steps but the first."""
    import numpy as np
    import torch

    from benchrunner_bert.pretraining.training.log_window import measured_peak

    rows = [one for batch in batches[1:] for one in batch]
    predictions = sum(len(one.positions) for one in rows)
    flops = config.step_flops(np.array([len(one.tokens) for one in rows]), predictions, next_sentence=False)
    peak = measured_peak(torch.device("cpu"), torch.bfloat16 if asked.precision == "bf16" else torch.float32)
    return {"rate": len(rows) / seconds, "utilisation": flops / seconds / peak}


def bare(asked: argparse.Namespace, home: Path, length: int) -> dict[str, float]:
    """Forward, backward, clip, Adam."""
    import torch

    from benchrunner.features.flat_batch import rounding
    from benchrunner.features.randomness import Dropout
    from benchrunner.training.optimizer import AdamW
    from benchrunner_bert.pretraining.architectures import of_size
    from benchrunner_bert.pretraining.deepspeed.adam import PaperAdam
    from benchrunner_bert.pretraining.instances.batches import pack
    from benchrunner_bert.pretraining.settings import Settings

    vocabulary, batches = instances(asked, home, length)
    tokenizer, cpu = vocabulary.tokenizer(), torch.device("cpu")
    architecture, size = of_size(asked.size)
    model = architecture.fresh(size, tokenizer, Settings("mlm", precision=asked.precision))
    config = model.bert.config
    learnt = [one for one in model.parameters() if one.requires_grad]
    groups: list[dict[str, Any]] = [{"params": learnt, "weight_decay": 0.01}]
    adam = PaperAdam(groups, AdamW(0.9, 0.999, 1e-6, bias_correction=False))
    started = 0.0
    for step, rows in enumerate(batches):
        multiple = rounding(asked.precision, sum(len(row.tokens) for row in rows))
        batch = pack(rows).on(cpu, dropout=Dropout(0, step), multiple=multiple)
        sums = model(batch)
        sums.loss(len(batch.labels), 0).backward()
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        for group in adam.param_groups:
            group["lr"], group["step"] = 1e-4, step + 1
        adam.step()
        adam.zero_grad()
        started = started or time.perf_counter()
    return measured(asked, config, batches, time.perf_counter() - started)


def transformers(asked: argparse.Namespace, home: Path, length: int) -> dict[str, float]:
    """BertForMaskedLM under the Trainer, with the library's own masking."""
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        BertTokenizer,
        DataCollatorForLanguageModeling,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    from benchrunner_bert.configuration import Configuration

    vocabulary, batches = instances(asked, home, length)
    config = Configuration.of_size(asked.size, vocabulary.size)
    theirs = BertConfig(
        vocab_size=vocabulary.size,
        hidden_size=config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.inner,
    )
    rows = [
        {"input_ids": one.tokens.tolist(), "token_type_ids": one.segments.tolist()} for step in batches for one in step
    ]

    class Clock(TrainerCallback):  # type: ignore[misc]
        started = stopped = 0.0

        def on_step_end(self, *given: Any, **more: Any) -> None:
            self.stopped = time.perf_counter()
            self.started = self.started or self.stopped

    clock = Clock()
    arguments = TrainingArguments(
        output_dir=str(home / "trainer"),
        per_device_train_batch_size=asked.tokens // length,
        max_steps=asked.steps + 1,
        bf16=asked.precision == "bf16",
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    tokenizer = BertTokenizer(vocab=asked.vocab)
    trainer = Trainer(
        model=BertForMaskedLM(theirs),
        args=arguments,
        train_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
        callbacks=[clock],
    )
    trainer.train()
    return measured(asked, config, batches, clock.stopped - clock.started)


def child(asked: argparse.Namespace) -> None:
    system, length = asked.only
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "tokens").symlink_to(asked.shared)
        if system.startswith("engine"):
            found = engine(asked, home, int(length), int(system[-1]))
        else:
            found = {"bare": bare, "transformers": transformers}[system](asked, home, int(length))
    print(json.dumps(found))


def one_of(asked: argparse.Namespace, system: str, length: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--shared", str(asked.shared), "--only", system, str(length)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    if done.returncode:
        raise SystemExit(f"{system}, length {length}:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--size", default="base")
    parser.add_argument("--lengths", default="128,512")
    parser.add_argument("--tokens", type=int, default=1024, help="of a step: the batch is as many over the length")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="separated by semicolons")
    parser.add_argument("--shared", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        child(asked)
        return
    systems = asked.systems.split(";")
    with tempfile.TemporaryDirectory() as folder:
        asked.shared = Path(folder) / "tokens"
        asked.shared.mkdir()
        instances(asked, Path(folder), 128)
        for length in (int(one) for one in asked.lengths.split(",")):
            found: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
            for _ in range(asked.repeats):
                for system in systems:
                    found[system].append(one_of(asked, system, length))
            report(asked, length, found)


def report(asked: argparse.Namespace, length: int, found: dict[str, list[dict[str, float]]]) -> None:
    print(f"{asked.size} at {length}, {asked.precision}, {asked.tokens // length} sequences a step")
    first = statistics.median(one["rate"] for one in next(iter(found.values())))
    for system, ones in found.items():
        rates, shares = [one["rate"] for one in ones], [one["utilisation"] for one in ones]
        middle = statistics.median(rates)
        print(
            f"  {system:<16} {middle:8.3f} sequences a second ({min(rates):.3f} to {max(rates):.3f}), "
            f"{statistics.median(shares):5.1%} of the peak; the first is {first / middle:.2f} x"
        )


if __name__ == "__main__":
    main()
