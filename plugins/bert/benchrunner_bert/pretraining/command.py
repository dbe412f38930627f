"""`benchrunner pretrain`: words to a request."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The option's defaults are the paper's; the modules that do the work are imported when it is done."""
    pretrain = commands.add_parser("pretrain", help="train a BERT from raw text; the result is a backbone")
    pretrain.add_argument("size", metavar="SIZE", help="tiny, mini, small, medium, base, large, or L/H or L/H/A")
    pretrain.add_argument(
        "--corpus",
        nargs="+",
        required=True,
        metavar="PATH",
        help="text, .jsonl, .parquet, folders, or hub:NAME[,CONFIG[,SPLIT]][@REVISION]",
    )
    pretrain.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the run is kept")
    pretrain.add_argument("--name", help="of the model in 'benchrunner list', behind pretrained/ (the folder's)")
    pretrain.add_argument(
        "--tokens", type=Path, metavar="DIR", help="the corpus as tokens, for several runs to share (OUT/tokens)"
    )
    pretrain.add_argument(
        "--runs", type=Path, metavar="DIR", help="where names are kept (BENCHRUNNER_RUNS, else ./runs)"
    )
    pretrain.add_argument("--held-out", nargs="+", default=[], metavar="PATH", help="text to measure perplexity on")
    pretrain.add_argument(
        "--blank-lines",
        type=int,
        default=1,
        metavar="N",
        help="in a row that end a document of a text file; 0: its end",
    )
    words = pretrain.add_mutually_exclusive_group()
    words.add_argument("--vocab", type=Path, metavar="FILE", help="a given vocab.txt")
    words.add_argument("--vocab-size", type=int, default=30_522, metavar="N", help="learn so many pieces (30522)")
    pretrain.add_argument("--cased", action="store_true", default=None, help="keep capital letters")
    group = pretrain.add_argument_group("what is learnt")
    group.add_argument("--objective", choices=("mlm+nsp", "mlm", "ltr"), default="mlm+nsp")
    group.add_argument("--mask", type=_rates, default=(0.8, 0.1, 0.1), metavar="80/10/10", help="[MASK]/random/same")
    for name, kind, text in _SETTINGS:
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=text)
    group.add_argument(
        "--positions",
        choices=("drawn", "waves"),
        default="drawn",
        help="begin as noise, as BERT's did, or as sines, which reach beyond the sequences so far (drawn)",
    )
    group.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    how = pretrain.add_argument_group("how")
    how.add_argument("--zero", type=int, choices=range(4), default=0, help="DeepSpeed's ZeRO stage")
    how.add_argument("--offload", action="store_true", help="the optimizer's state to the CPU's memory")
    how.add_argument("--micro-tokens", type=int, metavar="N", help="the most tokens a process computes at once")
    how.add_argument("--recompute", action="store_true", help="compute layers twice: less memory, a third more work")
    where = how.add_mutually_exclusive_group()
    where.add_argument("--processes", type=int, default=1, metavar="N", help="on this machine")
    where.add_argument("--hostfile", type=Path, metavar="FILE", help="on many: lines 'host slots=N', as DeepSpeed's")
    how.add_argument("--deepspeed-config", type=Path, metavar="FILE", help="keys that replace those we write")
    how.add_argument("--checkpoint-steps", type=int, default=1000, metavar="N")
    how.add_argument(
        "--checkpoints",
        choices=("whole", "deepspeed"),
        default="whole",
        help="whole: go on with any processes and stage; deepspeed: each process writes its share, faster for large "
        "models, and goes on only with as many at the same stage (whole)",
    )
    how.add_argument("--keep-checkpoints", type=int, default=2, metavar="N")
    how.add_argument("--evaluate-steps", type=int, default=1000, metavar="N", help="between looks at --held-out")
    how.add_argument("--log-steps", type=int, default=10, metavar="N")
    how.add_argument("--export-at", type=_steps, default=(), metavar="N,N", help="keep models of these steps")
    how.add_argument("--resume", action="store_true", help="refuse to begin anew: there must be a checkpoint")
    how.add_argument("--quiet", action="store_true", help="no progress")
    pretrain.set_defaults(run=pretrain_command)


_SETTINGS = (
    ("steps", int, "optimizer steps (1,000,000)"),
    ("batch_size", int, "sequences in a step (256)"),
    ("length", int, "tokens of a sequence in the first phase (128)"),
    ("long_length", int, "and in the second (512)"),
    ("long_share", float, "the second phase's share of the steps (0.1)"),
    ("lr", float, "peak learning rate (1e-4)"),
    ("warmup", int, "steps over which it rises (10,000)"),
    ("chosen", float, "share of tokens that are predicted (0.15)"),
    ("dropout", float, "at every site (0.1)"),
    ("seed", int, "of everything that is drawn (0)"),
)


def _rates(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(one) / 100 for one in text.split("/"))
    except ValueError:
        found = ()
    if len(found) != 3:
        raise argparse.ArgumentTypeError(f"'{text}' is not three rates in per cent such as 80/10/10")
    return found


def _steps(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of steps such as 1000,5000") from None


def pretrain_command(arguments: argparse.Namespace) -> int:
    from benchrunner import RequestError
    from benchrunner_bert.pretraining.deepspeed import launch
    from benchrunner_bert.pretraining.request import check

    request = _request(arguments)
    if arguments.processes < 1:
        raise RequestError(f"--processes must be at least 1, not {arguments.processes}.")
    check(request, arguments.processes)
    if arguments.resume and not any((request.out / "checkpoints").glob("step-*")):
        raise RequestError(f"{request.out} has no checkpoint to go on from; leave --resume out to begin.")
    if request.is_finished():
        request.announce()
        print(f"{request.model}: a backbone for --backbone; it was finished before")
        return 0
    rank = int(os.environ.get("RANK", "0"))
    say = _Voice(quiet=arguments.quiet or rank > 0)
    if arguments.hostfile is not None and not launch.is_launched():
        return launch.run_on_hosts(arguments.words, arguments.hostfile)
    if arguments.processes > 1 and not launch.is_launched():
        request.prepared(say.prepared)  # once, and with all cores
        return launch.run(arguments.words, arguments.processes)
    launch.end_with_parent()
    prepared = request.prepared_once if launch.is_launched() else request.prepared
    store, vocabulary = prepared(say.prepared)
    finished = request.run(store, vocabulary, say.learned)
    if rank == 0:
        home = request.model if finished else request.out
        print(f"{home}: a backbone for --backbone" if finished else f"Stopped; the same command goes on in {home}.")
    sys.stdout.flush()
    return 0 if finished else 130


def _request(arguments: argparse.Namespace) -> Any:
    from benchrunner import Workspace
    from benchrunner_bert.pretraining.request import Request
    from benchrunner_bert.pretraining.settings import Settings
    from benchrunner_bert.pretraining.training.plan import Plan

    given = {name: getattr(arguments, name) for name, _, _ in _SETTINGS if getattr(arguments, name) is not None}
    if arguments.micro_tokens is not None:
        given["micro_tokens"] = arguments.micro_tokens
    settings = Settings(
        objective=arguments.objective,
        masking=arguments.mask,
        positions=arguments.positions,
        precision=arguments.precision,
        zero=arguments.zero,
        offload=arguments.offload,
        recompute=arguments.recompute,
        **given,
    )
    plan = Plan(
        checkpoint_steps=arguments.checkpoint_steps,
        keep=arguments.keep_checkpoints,
        shares=arguments.checkpoints == "deepspeed",
        log_steps=arguments.log_steps,
        evaluate_steps=arguments.evaluate_steps,
        export_at=arguments.export_at,
    )
    return Request(
        size=arguments.size,
        corpus=tuple(arguments.corpus),
        out=arguments.out,
        settings=settings,
        held_out=tuple(arguments.held_out),
        blank_lines=arguments.blank_lines,
        vocabulary=arguments.vocab,
        vocabulary_size=arguments.vocab_size,
        lowercase=None if arguments.cased is None else not arguments.cased,
        plan=plan,
        tokens=arguments.tokens,
        name=arguments.name,
        runs=Workspace.from_environment(runs=arguments.runs).runs,
        overrides=_overrides(arguments.deepspeed_config),
        command=f"benchrunner {shlex.join(arguments.words)}",
    )


def _overrides(path: Path | None) -> Mapping[str, Any]:
    from benchrunner import read_json_object

    return {} if path is None else read_json_object(path)


@dataclasses.dataclass
class _Voice:
    """Lines of progress on standard error."""

    quiet: bool

    def prepared(self, progress: Any) -> None:
        if not self.quiet:
            share = f"{min(1.0, progress.characters / progress.size):.0%}, " if progress.size else ""
            print(f"  tokens: {share}{progress.tokens:,} so far ({progress.source})", file=sys.stderr)

    def learned(self, step: int, figures: Mapping[str, Any]) -> None:
        if not self.quiet:
            shown = ", ".join(
                f"{name.replace('_', ' ')} {value:.4g}" for name, value in figures.items() if name in _SHOWN
            )
            left = f", about {figures['seconds_left'] / 60:.0f} min left" if "seconds_left" in figures else ""
            print(f"  step {step}: {shown}{left}", file=sys.stderr)


_SHOWN = (
    "loss",
    "mlm_loss",
    "mlm_accuracy",
    "nsp_accuracy",
    "sequences_per_second",
    "tokens_per_second",
    "utilisation",
    "held_out_perplexity",
    "held_out_nsp_accuracy",
)
