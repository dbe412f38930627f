"""Options of `benchrunner pretrain`, and the request that they describe. The defaults are the paper's."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.request import Request


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options to the command's parser."""
    _add_texts_and_folders(parser)
    _add_training(parser.add_argument_group("what is learned"))
    _add_computing(parser.add_argument_group("how it is computed"))


def _add_texts_and_folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("size", metavar="SIZE", help=_SIZE_HELP)
    parser.add_argument(
        "--corpus",
        nargs="+",
        required=True,
        metavar="PATH",
        help="text, .jsonl, .parquet, folders, or hub:NAME[,CONFIG[,SPLIT]][@REVISION]",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run")
    parser.add_argument("--name", help="name of the model in 'benchrunner list', after pretrained/ (the folder's name)")
    parser.add_argument(
        "--tokens", type=Path, metavar="DIR", help="folder of the corpus as tokens; runs can share it (OUT/tokens)"
    )
    parser.add_argument(
        "--runs", type=Path, metavar="DIR", help="folder that holds the names of models (BENCHRUNNER_RUNS, else ./runs)"
    )
    parser.add_argument("--held-out", nargs="+", default=[], metavar="PATH", help="text to measure perplexity on")
    parser.add_argument(
        "--blank-lines",
        type=int,
        default=1,
        metavar="N",
        help="blank lines in a row that end a document of a text file (1); 0: one document per file",
    )
    parser.add_argument(
        "--passages-only",
        action=argparse.BooleanOptionalAction,
        help="leave out headings and list lines of extracted Wikipedia (for the hub's Wikipedia only)",
    )
    vocabulary = parser.add_mutually_exclusive_group()
    vocabulary.add_argument("--vocab", type=Path, metavar="FILE", help="use this vocab.txt")
    vocabulary.add_argument("--vocab-size", type=int, default=30_522, metavar="N", help="learn N pieces (30522)")
    parser.add_argument("--cased", action="store_true", default=None, help="keep capital letters")


def _add_training(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--objective",
        choices=("mlm+nsp", "mlm", "ltr", "rtl", "ltr+rtl"),
        help="masked tokens and next sentences, masked tokens alone, left to right, or right to left (mlm+nsp); a "
        "GPT-like model learns ltr, an ELMo ltr+rtl",
    )
    group.add_argument(
        "--input",
        choices=("pairs", "document", "text"),
        help="what a sequence holds: [CLS] A [SEP] B [SEP], where B follows A half of the time; [CLS] text [SEP] of "
        "one document; or such a text without special tokens (pairs; a GPT-like model: text; an ELMo: document)",
    )
    group.add_argument(
        "--mask",
        type=_rates,
        default=(0.8, 0.1, 0.1),
        metavar="80/10/10",
        help="per cent of predicted tokens that become [MASK], a random token, or stay (80/10/10)",
    )
    for name, kind, text in _SETTINGS:
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=text)
    group.add_argument(
        "--positions",
        choices=("drawn", "waves"),
        default="drawn",
        help="initial position embeddings: random values as in BERT, or sines, which also help at positions that no "
        "sequence has reached yet (drawn)",
    )
    group.add_argument(
        "--random-tokens",
        choices=("ordinary", "all"),
        default="ordinary",
        help="tokens that random replacements are drawn from: all but special tokens, or the whole vocabulary as in "
        "the released code (ordinary)",
    )
    group.add_argument(
        "--predict-unknown", action="store_true", help="let [UNK] be a predicted token, as in the released code"
    )
    group.add_argument(
        "--other-documents",
        choices=("length", "uniform"),
        default="length",
        help="how the document of a B that does not follow A is drawn: by its length, or uniformly as in the released "
        "code (length)",
    )
    group.add_argument(
        "--bias-correction", action="store_true", help="correct Adam's moments; the released code does not"
    )
    group.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of matrix products (fp32)")


def _add_computing(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--zero", type=int, choices=range(4), default=0, help="DeepSpeed's ZeRO stage (0)")
    group.add_argument("--offload", action="store_true", help="keep the optimizer's state in the CPU's memory")
    group.add_argument(
        "--micro-tokens", type=int, metavar="N", help="most tokens that a process computes at once (16384)"
    )
    group.add_argument(
        "--recompute", action="store_true", help="compute layers twice: less memory, a third more computing time"
    )
    machines = group.add_mutually_exclusive_group()
    machines.add_argument("--processes", type=int, default=1, metavar="N", help="processes on this machine (1)")
    machines.add_argument(
        "--hostfile", type=Path, metavar="FILE", help="use several machines: lines 'host slots=N', as for DeepSpeed"
    )
    group.add_argument(
        "--deepspeed-config",
        type=Path,
        metavar="FILE",
        help="JSON file with keys that replace our DeepSpeed configuration",
    )
    group.add_argument(
        "--checkpoint-steps", type=int, default=1000, metavar="N", help="steps between checkpoints (1000)"
    )
    group.add_argument(
        "--checkpoints",
        choices=("whole", "deepspeed"),
        default="whole",
        help="whole: a run continues with any number of processes at any stage; deepspeed: each process writes its "
        "part, which is faster for large models, and a run continues only with the same number and stage (whole)",
    )
    group.add_argument("--keep-checkpoints", type=int, default=2, metavar="N", help="number of checkpoints to keep (2)")
    group.add_argument(
        "--evaluate-steps", type=int, default=1000, metavar="N", help="steps between evaluations on --held-out (1000)"
    )
    group.add_argument(
        "--held-out-instances", type=int, default=256, metavar="N", help="sequences of an evaluation (256)"
    )
    group.add_argument("--log-steps", type=int, default=10, metavar="N", help="steps between lines of the log (10)")
    group.add_argument(
        "--export-at", type=_steps, default=(), metavar="N,N", help="also keep the models of these steps"
    )
    group.add_argument("--resume", action="store_true", help="fail if there is no checkpoint to continue from")
    group.add_argument("--quiet", action="store_true", help="no progress")


_SETTINGS = (
    ("steps", int, "optimizer steps (1,000,000)"),
    ("batch_size", int, "sequences in a step (256)"),
    ("length", int, "tokens of a sequence in the first phase (128)"),
    ("long_length", int, "tokens of a sequence in the second phase (512)"),
    ("long_share", float, "the second phase's share of the steps (0.1)"),
    ("lr", float, "peak learning rate (1e-4; an ELMo: 1e-3)"),
    ("warmup", int, "steps over which the learning rate rises (10,000)"),
    ("weight_decay", float, "decoupled weight decay; biases and LayerNorm do not decay (0.01)"),
    ("clip", float, "largest norm of a step's gradient; 0: no limit (1.0)"),
    ("chosen", float, "share of tokens that are predicted (0.15)"),
    ("short", float, "share of sequences that aim at a random shorter length (0.1)"),
    ("dropout", float, "dropout rate everywhere (0.1)"),
    ("seed", int, "seed of everything that is drawn (0)"),
)
"""Options that are fields of `Settings`: name, type and help. An option that is not given keeps the field's default."""


_SIZE_HELP = (
    "a BERT: tiny, mini, small, medium, base, large, or L/H or L/H/A; a GPT-like model of these sizes: gpt-tiny, ..., "
    "gpt-L/H/A; an ELMo: elmo-small, elmo-medium, elmo-base, "
    "elmo-L/H, or elmo-L/H/C with C cells"
)


def _rates(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(float(rate) / 100 for rate in text.split("/"))
    except ValueError:
        rates = ()
    if len(rates) != 3:
        raise argparse.ArgumentTypeError(f"'{text}' is not three rates in per cent such as 80/10/10")
    return rates


def _steps(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(step) for step in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of steps such as 1000,5000") from None


def request_of(arguments: argparse.Namespace) -> Request:
    """Build the request that parsed options describe."""
    from benchrunner import Workspace
    from benchrunner_bert.pretraining.architectures import of_size
    from benchrunner_bert.pretraining.request import Request
    from benchrunner_bert.pretraining.settings import Plan, Settings

    architecture, _ = of_size(arguments.size)
    given = (*(name for name, _, _ in _SETTINGS), "micro_tokens", "objective", "input")
    values = {name: getattr(arguments, name) for name in given if getattr(arguments, name) is not None}
    values = {"objective": architecture.objectives[0], **architecture.defaults, **values}
    settings = Settings(
        masking=arguments.mask,
        positions=arguments.positions,
        random_tokens=arguments.random_tokens,
        predict_unknown=arguments.predict_unknown,
        other_documents=arguments.other_documents,
        bias_correction=arguments.bias_correction,
        precision=arguments.precision,
        zero=arguments.zero,
        offload=arguments.offload,
        recompute=arguments.recompute,
        **values,
    )
    plan = Plan(
        checkpoint_steps=arguments.checkpoint_steps,
        keep=arguments.keep_checkpoints,
        shares=arguments.checkpoints == "deepspeed",
        log_steps=arguments.log_steps,
        evaluate_steps=arguments.evaluate_steps,
        held_out_instances=arguments.held_out_instances,
        export_at=arguments.export_at,
    )
    return Request(
        size=arguments.size,
        corpus=tuple(arguments.corpus),
        out=arguments.out,
        settings=settings,
        held_out=tuple(arguments.held_out),
        blank_lines=arguments.blank_lines,
        passages_only=arguments.passages_only,
        vocabulary=arguments.vocab,
        vocabulary_size=arguments.vocab_size,
        lowercase=None if arguments.cased is None else not arguments.cased,
        plan=plan,
        tokens=arguments.tokens,
        name=arguments.name,
        runs=Workspace.from_environment(runs=arguments.runs).runs,
        deepspeed_options=_deepspeed_options(arguments.deepspeed_config),
        command=f"benchrunner {shlex.join(arguments.words)}",
    )


def _deepspeed_options(path: Path | None) -> Mapping[str, Any]:
    from benchrunner import read_json_object

    return {} if path is None else read_json_object(path)
