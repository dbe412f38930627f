"""Command `list`: show everything that the plugins offer."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, print_columns, print_json, print_table
from benchrunner.console.printing import print_line
from benchrunner.errors import BenchrunnerError, UnknownName
from benchrunner.plugins.entry_points import note_on_choice
from benchrunner.plugins.listing import KINDS, Listed, list_names, list_offers

if TYPE_CHECKING:
    from benchrunner.leaderboards.board import Board
    from benchrunner.parameters.grids import NamedRecipe
    from benchrunner.plugins.registry import Plugins

_SHORT = 110
"""Characters of the names of a kind, where all kinds are listed."""

PARTS = ("embeddings", "layers", "pooler")
"""Parts of a backbone whose weights are counted; the pooler is everything above the layers."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `list`."""
    parser.add_argument(
        "kind", nargs="?", metavar="KIND", help=f"{', '.join(KINDS)}; or a word, which is searched in names and texts"
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="ITEM",
        help="a leaderboard whose published results, a recipe whose values, or a backbone whose weights are shown; "
        "or a word that is searched",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what the plugins offer: all kinds in short, one kind, one value, or what a word is found in."""
    kind, name, plugins = arguments.kind, arguments.name, arguments.plugins
    shows_one: dict[str, Callable[[Any], None]] = {"leaderboards": _show_board, "recipes": _show_recipe}
    if name and kind in shows_one:
        value = getattr(plugins, kind).find(name)
        name = value.name
        if not arguments.json:
            shows_one[kind](value)
            return DONE
    words = [word for word in (kind, name) if word is not None and word not in KINDS]
    if kind is None and not arguments.json:
        _show_in_short(list_names(plugins))
        print_line("'benchrunner list tasks' shows all of a kind, 'benchrunner list WORD' what mentions a word.")
        return DONE
    kinds = [kind] if kind in KINDS else KINDS
    offers = list_offers(plugins, kinds)
    if words:
        offers = _found(offers, " ".join(words))
        if not offers and (task := plugins.tasks.offer(words[-1])):  # of a file: listed once it is read
            offers = _found(list_offers(plugins, kinds), task.name)
        if kind == "backbones" and (weights := _weights(name, plugins)):
            offers = {kind: [Listed(name, f"weights: {_fields(weights)}", {"weights": weights})]}
        if not offers:
            raise UnknownName("kind, and nothing that mentions", " ".join(words), KINDS)
    if arguments.json:
        print_json(offers)
        return DONE
    if kind == "tasks" and offers[kind] and not words:
        _show_in_short(_families(plugins))
        print_line("'benchrunner list tasks FAMILY' says what the tasks of a family ask.")
    else:
        _show(offers)
    return DONE


def _weights(name: str, plugins: Plugins) -> Mapping[str, int]:
    """Count the weights of a backbone by part; none where its files are not on this machine, or its parts not known."""
    from benchrunner.runs.planner import Planner
    from benchrunner.workspace import Settings, Workspace

    workspace = replace(Workspace.from_environment(), settings=Settings(offline=True))
    counts = Counter[str]()
    try:
        encoder = Planner(plugins, workspace).backbone(name).load(workspace, seed=0)
        for weight, depth in encoder.depths().items():
            part = PARTS[(depth > 0) + (depth > len(encoder.layers))]
            counts[part] += encoder.get_parameter(weight).numel()
    except BenchrunnerError:
        return {}
    return counts


def _families(plugins: Plugins) -> dict[str, list[str]]:
    """Group the names of tasks by family."""
    families = dict[str, list[str]]()
    for name in plugins.tasks:
        family, _, rest = name.partition("/")
        families.setdefault(family, []).append(rest)
    return families


def _found(offers: Mapping[str, Sequence[Listed]], words: str) -> dict[str, list[Listed]]:
    """Choose the value of this name, or the values whose name or text has all these words."""
    chosen = {}
    for kind, values in offers.items():
        matching = [listed for listed in values if listed.name == words]
        matching = matching or [listed for listed in values if listed.mentions(words)]
        if matching:
            chosen[kind] = matching
    return chosen


def _show_in_short(names_of: Mapping[str, Sequence[str]]) -> None:
    """Print a line for each kind: the number of its values, and their names up to the first slash, shortened."""
    rows = []
    for kind, names in names_of.items():
        shown = ", ".join(dict.fromkeys(name.partition("/")[0] for name in names))
        in_short = shorten(shown, _SHORT, placeholder=" ...", break_on_hyphens=False)
        rows.append((f"{kind} ({len(names)})", in_short or note_on_choice()))
    print_columns(rows)


def _show(offers: Mapping[str, Sequence[Listed]]) -> None:
    """Print a line for each value."""
    for kind, values in offers.items():
        print_line(kind if values else f"{kind}: none. {note_on_choice()}".rstrip())
        print_columns(line for listed in values for line in _lines(listed))
        if kind == "backbones":
            print_line("  ... and any folder or hub id (owner/name) with a checkpoint, and run:ID of a finished fit")


def _show_recipe(recipe: NamedRecipe) -> None:
    """Print the values of a named recipe, with their source."""
    print_line(f"{recipe.name}: {recipe.about} ({recipe.source})")
    values_of = {"every task": recipe.values, **recipe.by_task}
    print_columns((task, _fields(values)) for task, values in values_of.items())
    if recipe.grid:
        lists = (f"{name} {', '.join(map(str, values))}" for name, values in recipe.grid.items())
        print_line(f"  --grid {recipe.name} tries {'; '.join(lists)}")
    if recipe.notes:
        print_line(f"  {recipe.notes}")


def _fields(values: Mapping[str, object]) -> str:
    """Write recipe fields with their values."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _show_board(board: Board) -> None:
    """Print all published results of one leaderboard."""
    print_line(f"{board.title} ({board.url})")
    for title, table, notes in board.tables():
        print_line()
        print_table(table, notes, title=title)


def _lines(listed: Listed) -> Iterator[tuple[str, str]]:
    """Yield the line of a value, and a line for each parameter of a method."""
    about, facts = listed.about, listed.facts
    method = facts.get("method", "finetune")
    if method != "finetune":
        about += f" [answered by '{method}' unless told otherwise]"
    for key in ("language", "licence"):
        if key in facts:
            about += f" ({facts[key]})"
    yield listed.name, about
    for parameter in facts.get("parameters", ()):
        yield (
            f"  --set {parameter['name']}",
            f"{parameter['about']} (default {parameter['default']}; {parameter['values']})",
        )
