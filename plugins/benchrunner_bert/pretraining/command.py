"""The command `benchrunner pretrain`: its options, and the request that they describe."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import COMPUTING, Settings

if TYPE_CHECKING:
    from benchrunner import CommandEstimate

EVERYDAY = (
    "help help_all corpus out name held_out vocabulary vocabulary_size objective steps batch_size length long_length "
    "lr warmup seed precision zero micro_tokens processes checkpoint_steps resume"
)
"""Options that `--help` shows."""
_SIZE_HELP = (
    "a BERT: tiny, mini, small, medium, base, large, or L/H or L/H/A; or a GPT-like model: gpt-tiny, ..., gpt-L/H/A"
)
_TEXTS = "blank_lines passages_only lowercase word_list name tokens runs"
"""Options of texts and folders, apart from those of the vocabulary."""
_RUN = (
    "processes deepspeed_config kernels checkpoint_steps keep_checkpoints evaluate_steps held_out_instances log_steps "
    "export_at"
)
"""Options of how a run is computed and watched."""
_CORPUS_HELP = "text, .jsonl, .parquet, folders, or hub:NAME[,CONFIG[,SPLIT]][@REVISION]"
_INTERRUPTED = 130
"""Exit code of a run that was stopped and can continue, as after Ctrl-C."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options to the command's parser."""
    parser.add_argument("size", metavar="SIZE", help=_SIZE_HELP)
    parser.add_argument("--corpus", nargs="+", required=True, metavar="PATH", help=_CORPUS_HELP)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run")
    parser.add_argument("--held-out", nargs="+", default=[], metavar="PATH", help="text to measure perplexity on")
    Request.add_options(parser.add_mutually_exclusive_group(), ("vocabulary", "vocabulary_size"))
    Request.add_options(parser, _TEXTS.split())
    learned = [field.name for field in dataclasses.fields(Settings) if field.name not in COMPUTING]
    Settings.add_options(parser.add_argument_group("what is learned"), learned)
    group = parser.add_argument_group("how it is computed")
    Settings.add_options(group, COMPUTING)
    Request.add_options(group, _RUN.split())
    group.add_argument("--resume", action="store_true", help="fail if there is no checkpoint to continue from")
    group.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(everyday=EVERYDAY.split())


def request_of(arguments: argparse.Namespace) -> Request:
    """Build the request that parsed options describe."""
    from benchrunner_bert.pretraining.architectures import of_size

    architecture, _ = of_size(arguments.size)
    defaults = {"objective": architecture.objectives[0], **architecture.defaults}
    return Request(
        size=arguments.size,
        corpus=tuple(arguments.corpus),
        out=arguments.out,
        settings=Settings(**{**defaults, **Settings.given(arguments)}),
        held_out=tuple(arguments.held_out),
        command=f"benchrunner {shlex.join(arguments.words)}",
        quiet=arguments.quiet,
        **Request.given(arguments),
    )


def estimate(arguments: argparse.Namespace) -> CommandEstimate:
    """Say what is left to do, and change nothing."""
    from benchrunner_bert.pretraining.estimate import estimate

    return estimate(request_of(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run the command; heavy libraries are imported here, not when the command line starts."""
    from benchrunner_bert.pretraining.pretrain import pretrain

    return 0 if pretrain(request_of(arguments), must_continue=arguments.resume) else _INTERRUPTED
