"""Command `tokens`: show the tokens that a backbone makes of a text or of a pair of texts."""

from __future__ import annotations

import argparse

from benchrunner import RequestError, print_line
from benchrunner.results import command_line
from benchrunner_methods.texts.vector_settings import VectorSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tokens`."""
    parser.add_argument("backbone", metavar="B", help=command_line.options.BACKBONES)
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="a text, or the two texts of a pair")
    VectorSettings.add_options(parser, ("max_length",))
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print each token, and what of the texts is cut."""
    from benchrunner.results import Runner
    from benchrunner_methods.texts.placed_pieces import placed

    if len(arguments.texts) > 2:
        raise RequestError("Give one text, or the two texts of a pair, each in quotes.")
    runner = Runner(arguments.plugins, command_line.options.workspace(arguments))
    encoder = runner.planner.backbone(arguments.backbone).load(runner.workspace, seed=0)
    length = min(arguments.max_length or encoder.max_length, encoder.max_length)
    pieces = placed(encoder, [[text] for text in arguments.texts], length)
    tokens = []
    for piece, token, segment in zip(
        pieces.characters, pieces.sequences.tokens.tolist(), pieces.sequences.segments.tolist(), strict=True
    ):
        kind = "unknown" if token == encoder.frame.unknown else "piece" if piece else "special"
        tokens.append({"piece": piece, "kind": kind, "id": token, "segment": segment})
    if arguments.json:
        command_line.output.print_json({"tokens": tokens, "cut": pieces.cut})
        return command_line.output.DONE
    command_line.output.print_columns(
        (str(token["piece"]), f"{token['kind']:7}  id {token['id']:6}  segment {token['segment']}") for token in tokens
    )
    for text in filter(None, pieces.cut):
        print_line(f"  cut at {length:,} tokens: {text}")
    return command_line.output.DONE
