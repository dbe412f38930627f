"""Command `doctor`: show versions, devices, folders and plugins, and what is wrong with them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, FAILED, print_columns, print_json
from benchrunner.console.printing import print_line
from benchrunner.features.kernels import described, gain_of_kernels

if TYPE_CHECKING:
    from benchrunner.plugins.diagnosis import Diagnosis


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `doctor`."""
    options.add_workspace(parser)
    options.add_json(parser)
    parser.set_defaults(shows_set_aside=True)


def run(arguments: argparse.Namespace) -> int:
    """Print the diagnosis; exit code 1 if a plugin could not be used."""
    from benchrunner.plugins.diagnosis import diagnose

    diagnosis = diagnose(arguments.plugins, options.workspace(arguments))
    if arguments.json:
        print_json(diagnosis)
    else:
        _print(diagnosis)
    return FAILED if diagnosis.set_aside or diagnosis.contests else DONE


def _print(diagnosis: Diagnosis) -> None:
    versions = {"python": diagnosis.python, **diagnosis.versions}
    facts = {
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "devices": ", ".join(diagnosis.devices),
        "data": diagnosis.data or "no folder (--data DIR or BENCHRUNNER_DATA)",
        "hub": "never asked (offline)" if diagnosis.offline else "asked for data and models that are not here",
        "runs": diagnosis.runs,
        "cache": diagnosis.cache,
    }
    print_columns(facts.items())
    none = ": none: tasks and backbones come from plugins, so install some"
    print_line(f"plugins{'' if diagnosis.plugins else none}")
    print_columns((plugin.name, f"{plugin.distribution} {plugin.version}") for plugin in diagnosis.plugins)
    if diagnosis.kernels is None:
        print_line(f"kernels: none; {gain_of_kernels(diagnosis.capability)}".rstrip("; "))
    else:
        print_line(f"kernels: {described(diagnosis.kernels)}")
        for note in diagnosis.kernels.notes:
            print_line(f"      {note}")
    if diagnosis.not_used:
        print_line(diagnosis.not_used)
    for part in diagnosis.set_aside:
        print_line(f"WRONG: {part.text}")
        print_line(f"       Correct this if '{part.plugin}' is yours; else reinstall or uninstall its distribution.")
    for contest in diagnosis.contests:
        print_line(f"WRONG: {contest}")
