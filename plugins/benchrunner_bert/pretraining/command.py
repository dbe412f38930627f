"""The command `benchrunner pretrain`: starts processes where several are asked for, and prints progress."""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchrunner import print_line, print_note
from benchrunner_bert.pretraining.options import add_options, request_of

if TYPE_CHECKING:
    from benchrunner import CommandEstimate
    from benchrunner_bert.pretraining.corpus.store_writer import Progress
    from benchrunner_bert.pretraining.corpus.token_store import TokenStore
    from benchrunner_bert.pretraining.request import Request
    from benchrunner_bert.pretraining.results import Learned

_INTERRUPTED = 130
"""Exit code of a run that was stopped and can continue, as after Ctrl-C."""


__all__ = ["add_options", "estimate", "run"]


def estimate(arguments: argparse.Namespace) -> CommandEstimate:
    """Say what is left to do, and change nothing."""
    from benchrunner_bert.pretraining.checks import check
    from benchrunner_bert.pretraining.estimate import estimate

    request = request_of(arguments)
    check(request, arguments.processes)
    return estimate(request)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; heavy libraries are imported here, not when the command line starts."""
    from benchrunner import RequestError
    from benchrunner_bert.pretraining.checks import check
    from benchrunner_bert.pretraining.deepspeed import processes
    from benchrunner_bert.pretraining.preparation import prepare, prepare_once_per_machine
    from benchrunner_bert.pretraining.results import is_finished, register_model

    request = request_of(arguments)
    check(request, arguments.processes)
    if arguments.resume and not any((request.out / "checkpoints").glob("step-*")):
        raise RequestError(f"{request.out} has no checkpoint to continue from; leave --resume out to start anew.")
    if is_finished(request):
        register_model(request)
        print_line(f"{request.model_folder}: a backbone for --backbone; it was finished before")
        return 0
    printer = _ProgressPrinter(quiet=arguments.quiet or int(os.environ.get("RANK") or 0) > 0)
    is_launched = processes.is_launched()
    # Without a launcher once for all processes, and on all cores.
    store = (prepare_once_per_machine if is_launched else prepare)(request, printer.prepared)
    work = functools.partial(_train, request, store, printer, arguments.kernels)
    finished = work() if is_launched else processes.run(work, arguments.processes)
    return 0 if finished else _INTERRUPTED


def _train(request: Request, store: TokenStore, printer: _ProgressPrinter, with_kernels: bool) -> bool:
    """Train in one of the processes of a run; the first prints."""
    from benchrunner.results import discover
    from benchrunner_bert.pretraining.pipeline import train, unread_documents
    from benchrunner_bert.pretraining.results import learned

    rank = int(os.environ.get("RANK") or 0)
    printer = replace(printer, quiet=printer.quiet or rank > 0)
    printer.left_out(unread_documents(request, store), store.documents)
    finished = train(request, store, printer.trained, discover().kernels if with_kernels else None)
    if finished and rank == 0:
        printer.learned(learned(request, store))
        print_line(f"{request.model_folder}: a backbone for --backbone")
    return finished


@dataclass
class _ProgressPrinter:
    """Prints lines of progress to standard error."""

    quiet: bool

    def prepared(self, progress: Progress) -> None:
        if not self.quiet:
            share = f"{min(1.0, progress.characters / progress.size):.0%}, " if progress.size else ""
            print_note(f"  tokens: {share}{progress.tokens:,} so far ({progress.source})")

    def left_out(self, unread: int, documents: int) -> None:
        if unread and not self.quiet:
            print_note(
                f"  {unread:,} of {documents:,} documents hold a single sentence and are not read: a pair needs two. "
                "--input document reads them, but has no next sentences to predict."
            )

    def learned(self, learned: Learned | None) -> None:
        """Say how much was learned; that nothing was, is said also where progress is not."""
        if learned is not None and (learned.is_nothing or not self.quiet):
            print_note(f"  {learned.text}")

    def trained(self, step: int, figures: Mapping[str, Any]) -> None:
        if not self.quiet:
            shown = ", ".join(
                f"{name.replace('_', ' ')} {value:.4g}" for name, value in figures.items() if name in _SHOWN_FIGURES
            )
            left = f", about {figures['seconds_left'] / 60:.0f} min left" if "seconds_left" in figures else ""
            print_note(f"  step {step}: {shown}{left}")


_SHOWN_FIGURES = (
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
