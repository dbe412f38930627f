"""Command `vectors`: write a vector of each text, or of each token, to a Parquet file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import DataError, Recipe, print_line, print_note, text_lines
from benchrunner.results import command_line, output_places
from benchrunner_methods.texts.vector_settings import VectorSettings

if TYPE_CHECKING:
    from benchrunner import Workspace


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vectors`."""
    parser.add_argument("backbone", metavar="B", help=command_line.options.BACKBONES)
    parser.add_argument(
        "texts", metavar="FILE", type=Path, help="a text on each line; or a .csv, .tsv, .jsonl or .parquet table"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the Parquet file that is written")
    parser.add_argument("--column", default="text", metavar="NAME", help="column of a table (default: text)")
    VectorSettings.add_options(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compute the vectors, and say what was written."""
    output_places.check_place(arguments.out, is_file=True)
    import torch

    from benchrunner.engine import steps
    from benchrunner.results import Computing, Runner
    from benchrunner_methods.texts.vectors import Vectors, write_vectors

    settings = VectorSettings(**VectorSettings.given(arguments))
    runner = Runner(arguments.plugins, command_line.options.workspace(arguments), Computing(settings.device))
    settings = replace(settings, device=runner.resolved.device, precision=runner.precision(settings.precision))
    backbone = runner.planner.backbone(arguments.backbone)
    facts = {"backbone": backbone.name, "revision": backbone.revision(runner.workspace)}
    encoder = backbone.load(runner.workspace, seed=0)
    inference = steps.Inference(
        torch.device(settings.device), settings.precision, Recipe().micro_tokens, kernels=arguments.plugins.kernels
    )
    vectors = Vectors(encoder, settings, inference).resolved()

    def note(text: str) -> None:
        if not arguments.quiet:
            print_note(f"vectors: {text}")

    for text in encoder.notes:
        note(text)
    texts = read_texts(arguments.texts, arguments.column, runner.workspace)
    count = write_vectors(vectors, texts, arguments.out, facts, note)
    if not count:
        raise DataError(f"{arguments.texts}: there is no text in this file.")
    if arguments.json:
        written = {"file": arguments.out, "vectors": count, "size": encoder.hidden_size}
        command_line.output.print_json({**written, **facts, **vars(vectors.settings)})
    else:
        print_line(f"{arguments.out} has {count:,} vectors of {encoder.hidden_size:,} numbers.")
    return command_line.output.DONE


def read_texts(path: Path, column: str, workspace: Workspace) -> Iterator[str]:
    """Yield the texts of a table's column, or the lines of any other file, which is never in memory as a whole."""
    from benchrunner_tasks import TABLE_SUFFIXES, table_file

    kind = TABLE_SUFFIXES.get(path.suffix)
    if kind is not None:
        yield from table_file(kind, path, {"text": column}).read(workspace).texts("text")
        return
    for line in text_lines(path):
        yield line.rstrip("\r")
