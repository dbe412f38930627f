"""Command `reproduce`: run the protocol of a publication, or list and show the protocols."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchrunner import DataError, RequestError, print_line
from benchrunner.results import Plugins, command_line
from benchrunner_protocols import building, listing, table
from benchrunner_protocols.protocol import Protocol


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `reproduce`."""
    options = command_line.options
    parser.add_argument("protocol", nargs="?", metavar="NAME", help="a protocol; without a name, all are listed")
    parser.add_argument("--show", action="store_true", help="print all values of the protocol with their sources")
    parser.add_argument("--backbone", nargs="+", metavar="B", help=options.BACKBONES)
    parser.add_argument(
        "--tasks", nargs="+", metavar="TASK", help="only these tasks or suites of the protocol (default: all)"
    )
    options.add_study(parser)
    command_line.study_commands.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run a protocol and print its table; or print what it would run, or what it says."""
    if arguments.protocol is None:
        return _list(arguments)
    protocol = table.find_protocol(arguments.protocol)
    if arguments.show:
        return _show(protocol, arguments)
    options, commands = command_line.options, command_line.study_commands
    commands.check_output(arguments)
    if not arguments.backbone:
        raise RequestError(
            f"Give what the protocol is for: 'reproduce {protocol.name} --backbone B'. To see what it says, "
            f"'reproduce {protocol.name} --show'."
        )
    runner = options.runner(arguments)
    executor = options.executor(arguments)
    chosen = options.study_options(arguments)
    words = [word for words in arguments.tasks or () for word in words.split(",") if word]
    tasks, left_out = building.chosen_tasks(protocol, words, arguments.plugins)
    tests = options.splits(arguments)
    study = building.protocol_study(protocol, arguments.backbone, tasks, chosen, runner, tests=tests)
    if arguments.published is None and protocol.published:
        arguments.published = ",".join(_known(protocol, arguments.plugins)) or None
    try:
        code = commands.planned_or_printed(study, runner, executor, arguments)
    except DataError as missing:
        if len(tasks) == 1:
            raise
        raise DataError(f"{missing}\nTo leave a task out, name the others: --tasks A,B.") from None
    if arguments.format == "table":
        for said in (*left_out, *(_not_covered(protocol) if arguments.dry_run else ())):
            print_line(f"  {said}")
    return code


def _list(arguments: argparse.Namespace) -> int:
    """Print the names of all protocols, with a line about each."""
    for given, option in ((arguments.backbone, "--backbone"), (arguments.tasks, "--tasks"), (arguments.show, "--show")):
        if given:
            raise RequestError(
                f"{option} is for one protocol: 'reproduce NAME {option} ...'. 'reproduce' alone lists the names."
            )
    output = command_line.output
    if arguments.format == "json":
        output.print_json({"protocols": list(table.PROTOCOLS.values())})
        return output.DONE
    print_line("protocols")
    output.print_columns((protocol.name, listing.summary(protocol)) for protocol in table.PROTOCOLS.values())
    print_line("  'benchrunner reproduce NAME --show' prints the values of a protocol with their sources.")
    return output.DONE


def _show(protocol: Protocol, arguments: argparse.Namespace) -> int:
    """Print everything that a protocol says."""
    output = command_line.output
    if arguments.format == "json":
        recipe = arguments.plugins.recipes.find(protocol.recipe)
        output.print_json({"protocols": [protocol], "recipes": [recipe]})
        return output.DONE
    print_line(f"{protocol.name}: {protocol.about}")
    output.print_columns(listing.facts(protocol, arguments.plugins))
    return output.DONE


def _known(protocol: Protocol, plugins: Plugins) -> list[str]:
    """Name the protocol's published systems that an installed leaderboard lists."""
    systems = {row.system for board in plugins.leaderboards.values() for row in board.published}
    return [system for system in protocol.published if system in systems]


def _not_covered(protocol: Protocol) -> Iterator[str]:
    """Yield what of the publication a dry run does not count, and what the publication selects."""
    yield f"protocol {protocol.name}: {protocol.source}; seeds: {protocol.seeds}"
    yield f"selection: {protocol.selection}"
    for said in protocol.missing:
        yield f"not covered: {said}"
