"""Command `list`: show everything that the plugins offer."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, print_columns, print_json, print_table
from benchrunner.console.printing import print_line
from benchrunner.errors import RequestError
from benchrunner.plugins.distributions import advice_on_absent_plugins
from benchrunner.plugins.listing import KINDS, Listed, list_offers

if TYPE_CHECKING:
    from benchrunner.leaderboards.leaderboard import Leaderboard
    from benchrunner.parameters.recipes import NamedRecipe


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `list`."""
    parser.add_argument("kind", nargs="?", choices=KINDS, help="only this kind")
    parser.add_argument(
        "name",
        nargs="?",
        metavar="ITEM",
        help="with 'leaderboards': published results of this leaderboard; with 'recipes': values of this recipe",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what the plugins offer."""
    if arguments.name is not None:
        return _show_named(arguments)
    chosen = list_offers(arguments.plugins, [arguments.kind] if arguments.kind else KINDS)
    if arguments.json:
        print_json(chosen)
        return DONE
    for kind, values in chosen.items():
        print_line(kind if values else f"{kind}: none. {advice_on_absent_plugins()}".rstrip())
        print_columns(line for listed in values for line in _lines(listed))
        if kind == "backbones":
            print_line("  ... and any folder or hub id (owner/name) with a checkpoint, and run:ID of a finished fit")
            for family in arguments.plugins.families:
                if family.prefix:
                    print_line(f"  ... and {family.prefix}:A,B, several of these as one backbone")
        if kind == "recipes":
            print_line("  Without --recipe, every backbone gets the same recipe, each task's own: a fair comparison.")
    return DONE


def _show_named(arguments: argparse.Namespace) -> int:
    """Print everything about one leaderboard or one named recipe."""
    if arguments.kind == "leaderboards":
        return _show_board(arguments, arguments.plugins.leaderboards.find(arguments.name))
    if arguments.kind == "recipes":
        return _show_recipe(arguments, arguments.plugins.recipes.find(arguments.name))
    raise RequestError(f"'list {arguments.kind}' takes no name: leave '{arguments.name}' out.")


def _show_recipe(arguments: argparse.Namespace, recipe: NamedRecipe) -> int:
    """Print the values of a named recipe, with their source."""
    if arguments.json:
        print_json({"recipes": [recipe]})
        return DONE
    print_line(f"{recipe.name}: {recipe.about} ({recipe.source})")
    print_columns(
        [("every task", _fields(recipe.values)), *((task, _fields(of)) for task, of in recipe.by_task.items())]
    )
    if recipe.grid:
        lists = (f"{name} {', '.join(map(str, values))}" for name, values in recipe.grid.items())
        print_line(f"  --grid {recipe.name} tries {'; '.join(lists)}")
    if recipe.notes:
        print_line(f"  {recipe.notes}")
    return DONE


def _fields(values: Mapping[str, object]) -> str:
    """Write recipe fields with their values."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _show_board(arguments: argparse.Namespace, board: Leaderboard) -> int:
    """Print all published results of one leaderboard, with their sources."""
    from benchrunner.leaderboards.published_table import source_tables

    if arguments.json:
        boards = list_offers(arguments.plugins, ["leaderboards"])["leaderboards"]
        listed = next(listed for listed in boards if listed.name == board.name)
        print_json({"leaderboards": [listed]})
        return DONE
    print_line(f"{board.title} ({board.url})" + ("" if board.published else ": no published results"))
    for source in source_tables(board):
        print_line()
        print_table(source.table, source.notes, title=source.title)
    if any(row.by_default for row in board.published):
        print_line("\n* shown beside our figures unless --published names other systems")
    return DONE


def _lines(listed: Listed) -> Iterator[tuple[str, str]]:
    """Yield the line of a value, and a line for each parameter of a method."""
    yield listed.name, _about(listed)
    for parameter in listed.parameters:
        yield f"  --set {parameter.name}", f"{parameter.about} (default {parameter.default}; {parameter.values})"


def _about(listed: Listed) -> str:
    about = listed.about
    if listed.method not in ("", "finetune"):
        about += f" [answered by '{listed.method}' unless told otherwise]"
    about += f" ({listed.url})" if listed.url else ""
    about += f" ({listed.recipe.source})" if listed.recipe is not None else ""
    return f"{about}, {listed.systems} published system{'s' * (listed.systems > 1)}" if listed.published else about
