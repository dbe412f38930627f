"""F1 on SQuAD's dev after fine-tuning on a slice, ours beside an independent implementation: is the difference noise?

python benchmarks/squad_parity.py --data DIR --out FOLDER [--rows 5000] [--epochs 2] [--seeds 0,1] [--side ours]

The other side is transformers' BertForQuestionAnswering under its Trainer, with windows, spans and answers by loops
written from the paper's rules (peer_squad.py). Same weights, slice and recipe (see peer_trainer.py; length 384, stride
128, bf16); other draws of order, head and dropout. Both sides' answers are scored by this project's official scorer.
FOLDER keeps what is finished, so that the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics

import peer_trainer
from peer_squad import LONGEST, Asker

from benchrunner import Recipe
from benchrunner.runs.predicting import predict


def ours(arguments: argparse.Namespace, seed: int) -> dict[str, str]:
    runner = peer_trainer.runner(arguments)
    recipe = Recipe(
        epochs=arguments.epochs,
        max_length=LONGEST,
        precision="bf16",
        schedule="after-warmup",
        limit_train=arguments.rows,
    )
    task = runner.plugins.tasks.find("squad/1.1")
    fit = runner.planner.plan(task, str(arguments.model), recipe=recipe, seed=seed)
    answers = predict(fit, "dev", runner).answers
    return dict(zip(runner.planner.rows(task, "dev").table.column("id").to_pylist(), answers, strict=True))


def trainer(arguments: argparse.Namespace, seed: int) -> dict[str, str]:
    from transformers import AutoTokenizer, BertForQuestionAnswering

    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    asker = Asker(tokenizer)
    loop = peer_trainer.trained(
        lambda: BertForQuestionAnswering.from_pretrained(arguments.model),
        tokenizer,
        asker.examples(asker.rows(arguments.data / "squad" / "train-v1.1.json", arguments.rows)),
        arguments,
        seed=seed,
        epochs=arguments.epochs,
        precision="bf16",
    )
    return asker.answers(loop, asker.rows(arguments.data / "squad" / "dev-v1.1.json"))


def main() -> None:
    parser = peer_trainer.options(__doc__.splitlines()[0], seeds=[0, 1])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    runner = peer_trainer.runner(arguments)
    task = runner.plugins.tasks.find("squad/1.1")
    gold = runner.planner.rows(task, "dev")
    sides: dict[str, list[float]] = {"ours": [], "trainer": []}
    for seed in arguments.seeds:
        for side, run in (("ours", ours), ("trainer", trainer)):
            file = arguments.out / f"{side}-{seed}.json"
            if not file.exists() and arguments.side in (None, side):
                file.write_text(json.dumps(run(arguments, seed)), encoding="utf-8")
            if file.exists():
                assert task.scorer is not None
                figures = task.scorer.score(file, gold, {}).figures
                print(f"{side} seed {seed}: " + ", ".join(f"{name} {one.value:.2f}" for name, one in figures.items()))
                sides[side].append(float(figures["f1"].value or 0.0))
    if min(map(len, sides.values())) > 1:
        means = {side: statistics.fmean(values) for side, values in sides.items()}
        error = math.sqrt(sum(statistics.variance(values) / len(values) for values in sides.values()))
        print(f"difference {means['ours'] - means['trainer']:+.2f}, its standard error {error:.2f}")


if __name__ == "__main__":
    main()
