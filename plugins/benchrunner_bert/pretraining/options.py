"""Options of `benchrunner pretrain`, and the request that they describe. The defaults are the paper's."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.engine import Parameter
from benchrunner_bert.pretraining.settings import COMPUTING, Plan, Settings, Texts

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.request import Request

PROCESSES = Parameter(
    "processes", "processes on this machine; torchrun starts those of several machines", 1, at_least=1, at_most=1_024
)

EVERYDAY = (
    "help help_all corpus out name held_out vocab vocabulary_size objective steps batch_size length long_length lr "
    "warmup seed precision zero micro_tokens processes checkpoint_steps resume"
)
"""Options that `--help` shows."""
_SIZE_HELP = (
    "a BERT: tiny, mini, small, medium, base, large, or L/H or L/H/A; or a GPT-like model: gpt-tiny, ..., "
    "gpt-L/H/A; an ELMo: elmo-small, elmo-medium, elmo-base, elmo-L/H, or elmo-L/H/C with C cells"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options to the command's parser."""
    _add_texts_and_folders(parser)
    learned = [field.name for field in dataclasses.fields(Settings) if field.name not in COMPUTING]
    Settings.add_options(parser.add_argument_group("what is learned"), learned)
    _add_computing(parser.add_argument_group("how it is computed"))
    parser.set_defaults(processes=PROCESSES.default, everyday=EVERYDAY.split())


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
    vocabulary = parser.add_mutually_exclusive_group()
    vocabulary.add_argument("--vocab", type=Path, metavar="FILE", help="use this vocab.txt")
    Texts.add_options(vocabulary, ("vocabulary_size",))
    Texts.add_options(parser, ("blank_lines", "passages_only", "lowercase"))


def _add_computing(group: argparse._ArgumentGroup) -> None:
    Settings.add_options(group, COMPUTING)
    PROCESSES.add_to(group)
    group.add_argument(
        "--deepspeed-config",
        type=Path,
        metavar="FILE",
        help="JSON file with keys that replace our DeepSpeed configuration",
    )
    Plan.add_options(group)
    group.add_argument(
        "--no-kernels",
        dest="kernels",
        action="store_false",
        help="on a CPU: let torch compute what compiled kernels of a plugin would compute",
    )
    group.add_argument("--resume", action="store_true", help="fail if there is no checkpoint to continue from")
    group.add_argument("--quiet", action="store_true", help="no progress")


def request_of(arguments: argparse.Namespace) -> Request:
    """Build the request that parsed options describe."""
    from benchrunner import Workspace
    from benchrunner_bert.pretraining.architectures import of_size
    from benchrunner_bert.pretraining.request import Request

    architecture, _ = of_size(arguments.size)
    defaults = {"objective": architecture.objectives[0], **architecture.defaults}
    return Request(
        size=arguments.size,
        corpus=tuple(arguments.corpus),
        out=arguments.out,
        settings=Settings(**{**defaults, **Settings.given(arguments)}),
        held_out=tuple(arguments.held_out),
        vocabulary=arguments.vocab,
        plan=Plan(**Plan.given(arguments)),
        texts=Texts(**Texts.given(arguments)),
        tokens=arguments.tokens,
        name=arguments.name,
        runs=Workspace.from_environment(runs=arguments.runs).runs,
        deepspeed_options=_deepspeed_options(arguments.deepspeed_config),
        command=f"benchrunner {shlex.join(arguments.words)}",
    )


def _deepspeed_options(path: Path | None) -> Mapping[str, Any]:
    from benchrunner import read_json_object

    return {} if path is None else read_json_object(path)
