"""Options of `benchrunner pretrain`, and the request that they describe. The defaults are the paper's."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.request import Request


_SIZE_HELP = (
    "a BERT: tiny, mini, small, medium, base, large, or L/H or L/H/A; a GPT-like model of these sizes: gpt-tiny, ..., "
    "gpt-L/H/A; an ELMo: elmo-small, elmo-medium, elmo-base, elmo-L/H, or elmo-L/H/C with C cells"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options to the command's parser."""
    _add_texts_and_folders(parser)
    learned = parser.add_argument_group("what is learned")
    for option in _LEARNED:
        option.add(learned)
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
        help="read only text passages of extracted Wikipedia, no headings and lists (default: of the hub's Wikipedia)",
    )
    vocabulary = parser.add_mutually_exclusive_group()
    vocabulary.add_argument("--vocab", type=Path, metavar="FILE", help="use this vocab.txt")
    vocabulary.add_argument("--vocab-size", type=int, default=30_522, metavar="N", help="learn N pieces (30522)")
    parser.add_argument("--cased", action="store_true", default=None, help="keep capital letters")


def _add_computing(group: argparse._ArgumentGroup) -> None:
    for option in _COMPUTED:
        option.add(group)
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
        "--checkpoints",
        choices=("whole", "deepspeed"),
        default="whole",
        help="whole: a run continues with any number of processes at any stage; deepspeed: each process writes its "
        "part, which is faster for large models, and a run continues only with the same number and stage (whole)",
    )
    for option in _PLANNED:
        option.add(group)
    group.add_argument("--resume", action="store_true", help="fail if there is no checkpoint to continue from")
    group.add_argument("--quiet", action="store_true", help="no progress")


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


@final
@dataclass(frozen=True)
class _Option:
    """An option that sets a field of `Settings` or `Plan`. If the option is not given, the field keeps its default."""

    field: str
    text: str
    """Help, with the default in parentheses."""
    kind: Callable[[str], Any] | None = None
    """Function that reads the value; None for an option without a value."""
    choices: tuple[Any, ...] = ()
    metavar: str = "N"
    name: str = ""
    """Name of the option; empty where it is the field's name."""

    def add(self, group: argparse._ArgumentGroup) -> None:
        """Add the option to a group of the parser."""
        name = self.name or f"--{self.field.replace('_', '-')}"
        if self.kind is None:
            group.add_argument(name, dest=self.field, action="store_true", default=None, help=self.text)
        elif self.choices:
            group.add_argument(name, dest=self.field, type=self.kind, choices=self.choices, help=self.text)
        else:
            group.add_argument(name, dest=self.field, type=self.kind, metavar=self.metavar, help=self.text)


_LEARNED = (
    _Option(
        "objective",
        "what is predicted: masked tokens and next sentences, masked tokens alone, the next token, or the token before "
        "(mlm+nsp; a GPT-like model: ltr; an ELMo: ltr+rtl, which is both of the last two)",
        str,
        choices=("mlm+nsp", "mlm", "ltr", "rtl", "ltr+rtl"),
    ),
    _Option(
        "input",
        "what a sequence holds: [CLS] A [SEP] B [SEP], where B follows A half of the time; [CLS] text [SEP] of one "
        "document; or such a text without special tokens (pairs; a GPT-like model: text; an ELMo: document)",
        str,
        choices=("pairs", "document", "text"),
    ),
    _Option("steps", "optimizer steps (1,000,000)", int),
    _Option("batch_size", "sequences in a step (256)", int),
    _Option("length", "tokens of a sequence in the first phase (128)", int),
    _Option("long_length", "tokens of a sequence in the second phase (512)", int),
    _Option("long_share", "the second phase's share of the steps (0.1)", float, metavar="SHARE"),
    _Option("short", "share of sequences that aim at a random shorter length (0.1)", float, metavar="SHARE"),
    _Option(
        "other_documents",
        "how the document of a B that does not follow A is drawn: by its length, or uniformly as in the released code "
        "(length)",
        str,
        choices=("length", "uniform"),
    ),
    _Option("chosen", "share of tokens that are predicted (0.15)", float, metavar="SHARE"),
    _Option(
        "masking",
        "per cent of predicted tokens that become [MASK], a random token, or stay (80/10/10)",
        _rates,
        metavar="80/10/10",
        name="--mask",
    ),
    _Option(
        "random_tokens",
        "tokens that random replacements are drawn from: all but special tokens, or the whole vocabulary as in the "
        "released code (ordinary)",
        str,
        choices=("ordinary", "all"),
    ),
    _Option("predict_unknown", "let [UNK] be a predicted token, as in the released code"),
    _Option("lr", "peak learning rate (1e-4; an ELMo: 1e-3)", float, metavar="RATE"),
    _Option("warmup", "steps over which the learning rate rises (10,000)", int),
    _Option("weight_decay", "decoupled weight decay; biases and LayerNorm do not decay (0.01)", float, metavar="RATE"),
    _Option("clip", "largest norm of a step's gradient; 0: no limit (1.0)", float, metavar="NORM"),
    _Option("bias_correction", "correct Adam's moments; the released code does not"),
    _Option("dropout", "dropout rate everywhere (0.1)", float, metavar="RATE"),
    _Option(
        "deviation",
        "standard deviation of fresh weights; a narrow model learns sooner from larger ones (0.02)",
        float,
        metavar="NUMBER",
    ),
    _Option(
        "positions",
        "initial position embeddings: random values as in BERT, or sines, which also help at positions that no "
        "sequence has reached yet (drawn)",
        str,
        choices=("drawn", "waves"),
    ),
    _Option("seed", "seed of everything that is drawn (0)", int),
    _Option("precision", "of matrix products (fp32)", str, choices=("fp32", "bf16")),
)
_COMPUTED = (
    _Option("zero", "DeepSpeed's ZeRO stage (0)", int, choices=(0, 1, 2, 3)),
    _Option("offload", "keep the optimizer's state in the CPU's memory"),
    _Option("micro_tokens", "most tokens that a process computes at once (16384)", int),
    _Option("recompute", "compute layers twice: less memory, a third more computing time"),
)
_PLANNED = (
    _Option("checkpoint_steps", "steps between checkpoints (1000)", int),
    _Option("keep", "number of checkpoints to keep (2)", int, name="--keep-checkpoints"),
    _Option("evaluate_steps", "steps between evaluations on --held-out (1000)", int),
    _Option("held_out_instances", "sequences of an evaluation (256)", int),
    _Option("log_steps", "steps between lines of the log (10)", int),
    _Option("export_at", "also keep the models of these steps", _steps, metavar="N,N"),
)


def _given(arguments: argparse.Namespace, options: Iterable[_Option]) -> dict[str, Any]:
    """Give the fields whose options were given."""
    values = {option.field: getattr(arguments, option.field) for option in options}
    return {field: value for field, value in values.items() if value is not None}


def request_of(arguments: argparse.Namespace) -> Request:
    """Build the request that parsed options describe."""
    from benchrunner import Workspace
    from benchrunner_bert.pretraining.architectures import of_size
    from benchrunner_bert.pretraining.request import Request
    from benchrunner_bert.pretraining.settings import Plan, Settings

    architecture, _ = of_size(arguments.size)
    defaults = {"objective": architecture.objectives[0], **architecture.defaults}
    return Request(
        size=arguments.size,
        corpus=tuple(arguments.corpus),
        out=arguments.out,
        settings=Settings(**{**defaults, **_given(arguments, (*_LEARNED, *_COMPUTED))}),
        held_out=tuple(arguments.held_out),
        blank_lines=arguments.blank_lines,
        passages_only=arguments.passages_only,
        vocabulary=arguments.vocab,
        vocabulary_size=arguments.vocab_size,
        lowercase=None if arguments.cased is None else not arguments.cased,
        plan=Plan(shares=arguments.checkpoints == "deepspeed", **_given(arguments, _PLANNED)),
        tokens=arguments.tokens,
        name=arguments.name,
        runs=Workspace.from_environment(runs=arguments.runs).runs,
        deepspeed_options=_deepspeed_options(arguments.deepspeed_config),
        command=f"benchrunner {shlex.join(arguments.words)}",
    )


def _deepspeed_options(path: Path | None) -> Mapping[str, Any]:
    from benchrunner import read_json_object

    return {} if path is None else read_json_object(path)
