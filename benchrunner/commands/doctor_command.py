"""Command `doctor`: show versions, devices, folders and plugins, and what is wrong with them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, FAILED, print_json
from benchrunner.console.printing import print_line
from benchrunner.features.kernels import described
from benchrunner.plugins.distributions import advice_on_absent_plugins

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
    return DONE if diagnosis.is_sound else FAILED


def _print(diagnosis: Diagnosis) -> None:
    workspace = diagnosis.workspace
    facts = diagnosis.as_json()
    versions = ", ".join(f"{name} {version}" for name, version in diagnosis.versions.items())
    print_line(f"python {diagnosis.python}; {versions}")
    print_line("devices: " + ", ".join(diagnosis.devices))
    print_line(f"data: {workspace.data or 'no folder (--data DIR or BENCHRUNNER_DATA): the hub is asked'}")
    print_line(
        f"runs: {workspace.runs}; cache: {workspace.cache}" + ("; offline" if workspace.settings.offline else "")
    )
    print_line(
        "plugins: " + (", ".join(facts["plugins"]) or "none: tasks and backbones come from plugins, so install some")
    )
    if diagnosis.kernels is not None:
        print_line(f"kernels: {described(diagnosis.kernels)}")
        for note in diagnosis.kernels.notes:
            print_line(f"      {note}")
    if diagnosis.absent:
        print_line(advice_on_absent_plugins())
    for part in diagnosis.set_aside:
        print_line(f"WRONG: {part.text}")
        if part.is_explained:
            print_line(f"       Correct this, or uninstall the distribution that brings '{part.plugin}'.")
        elif not part.is_contested:
            remedy = "reinstall or uninstall the distribution that brings it"
            print_line(f"       Correct the code if '{part.plugin}' is yours; else {remedy}.")
