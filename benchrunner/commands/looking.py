"""list, doctor, data: what there is and whether it works."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from benchrunner.commands import options
from benchrunner.data.sources import DataNotFound
from benchrunner.errors import BenchrunnerError, RequestError
from benchrunner.plugins.registry import Plugins

KINDS = ("tasks", "backbones", "methods", "leaderboards", "executors", "studies", "plugins")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = commands.add_parser("list", help="tasks, backbones, methods, leaderboards, executors, studies, plugins")
    listing.add_argument("kind", nargs="?", choices=KINDS, help="only these")
    options.output(listing)
    listing.set_defaults(run=list_command)
    doctor = commands.add_parser("doctor", help="plugins, versions, devices, data: what is wrong and what to do")
    options.workspace_options(doctor)
    options.output(doctor)
    doctor.set_defaults(run=doctor_command, says_plugins=True)
    data = commands.add_parser("data", help="where each task's data was found, and whether it is whole")
    data.add_argument("action", choices=("status", "fetch"), help="status asks nobody; fetch downloads what is missing")
    data.add_argument("tasks", nargs="*", metavar="TASK", help="only these")
    options.workspace_options(data)
    options.output(data)
    data.set_defaults(run=data_command)


def offered(plugins: Plugins) -> dict[str, list[dict[str, str]]]:
    """Everything there is, by kind: what `list --json` prints."""
    return {
        "tasks": [
            {"name": one.name, "about": one.about, "problem": one.problem.name, "method": one.method}
            | ({"method_reason": one.method_reason} if one.method_reason else {})
            for one in plugins.tasks.values()
        ],
        "backbones": [{"name": one.name, "about": one.about} for one in plugins.backbones.values()],
        "methods": [{"name": one.name, "about": one.about} for one in plugins.methods.values()],
        "leaderboards": [{"name": one.name, "about": one.title} for one in plugins.leaderboards.values()],
        "executors": [{"name": one.name, "about": one.about} for one in plugins.executors.values()],
        "studies": [{"name": name, "about": _title(path)} for name, path in plugins.studies.items()],
        "plugins": [
            {"name": one.name, "about": f"{one.distribution} {one.version}"} for one in [plugins.core, *plugins.loaded]
        ],
    }


def _title(path: Path) -> str:
    """Of a study file; one that is broken is found here, and must not keep the others from being listed."""
    from benchrunner.studies import study_file  # a few milliseconds, which other commands need not wait for

    try:
        return study_file.title(path)
    except RequestError as error:
        return f"cannot be used: {error}"


def list_command(arguments: argparse.Namespace) -> int:
    found = offered(arguments.plugins)
    chosen = {kind: found[kind] for kind in ([arguments.kind] if arguments.kind else KINDS)}
    if arguments.json:
        print(json.dumps(chosen, indent=2, ensure_ascii=False))
        return 0
    for kind, rows in chosen.items():
        print(f"{kind}{'' if rows else ': none'}")
        _columns((row["name"], _about(row)) for row in rows)
    if "backbones" in chosen:
        print("  ... and any folder or hub id (owner/name) with a checkpoint, and run:ID of a finished fit")
    return 0


def _about(row: Mapping[str, str]) -> str:
    method = row.get("method", "finetune")
    return row["about"] + (f" [answered by '{method}' unless told otherwise]" if method != "finetune" else "")


def _columns(rows: Iterable[tuple[str, str]]) -> None:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    for name, about in rows:
        print(f"  {name:<{width}}  {about}")


def doctor_command(arguments: argparse.Namespace) -> int:
    """Exit code 1 where something is wrong."""
    workspace, plugins = options.workspace_of(arguments), arguments.plugins
    versions = {
        name: _installed(name)
        for name in ("benchrunner", "torch", "datasets", "tokenizers", "numpy", "pyarrow", "pluggy")
    }
    broken = [{"plugin": one.plugin, "reason": one.reason} for one in plugins.set_aside]
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "versions": versions,
        "devices": _devices(),
        "plugins": [f"{one.name} ({one.distribution} {one.version})" for one in plugins.loaded],
        "set_aside": broken,
        "data": str(workspace.data) if workspace.data else None,
        "runs": str(workspace.runs),
        "cache": str(workspace.cache),
        "offline": workspace.settings.offline,
    }
    if arguments.json:
        print(json.dumps(facts, indent=2, ensure_ascii=False))
        return 1 if broken else 0
    print(f"python {facts['python']}; " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    print("devices: " + ", ".join(facts["devices"]))
    print(f"data: {workspace.data or 'no folder (--data DIR or BENCHRUNNER_DATA): the hub is asked'}")
    print(f"runs: {workspace.runs}; cache: {workspace.cache}" + ("; offline" if workspace.settings.offline else ""))
    print("plugins: " + (", ".join(facts["plugins"]) or "none: tasks and backbones come from plugins, so install some"))
    for one in broken:
        print(f"WRONG: plugin {one['plugin']} is set aside: {one['reason']}")
        print(f"       Reinstall or uninstall the distribution that brings '{one['plugin']}'.")
    return 1 if broken else 0


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _devices() -> list[str]:
    import torch

    found = [f"cpu ({torch.get_num_threads()} threads)"]
    for number in range(torch.cuda.device_count()):
        found.append(f"cuda:{number} ({torch.cuda.get_device_name(number)})")
    return found


def data_command(arguments: argparse.Namespace) -> int:
    """Exit code 1 where a file that is there cannot be used, or, for fetch, where a split is nowhere."""
    arguments.offline = arguments.offline or arguments.action == "status"
    workspace = options.workspace_of(arguments)
    tasks = options.tasks(arguments, arguments.tasks) if arguments.tasks else list(arguments.plugins.tasks.values())
    rows, wrong = [], False
    for task in tasks:
        for name, split in task.splits.items():
            row: dict[str, Any] = {"task": task.name, "split": name, "official_rows": split.rows}
            try:
                found = task.load(name, workspace)
                row |= {
                    "rows": len(found),
                    "origin": found.origin,
                    "sha256": found.fingerprint,
                    "notes": list(found.notes),
                }
            except BenchrunnerError as error:
                row |= {"rows": None, "missing": isinstance(error, DataNotFound), "problem": str(error)}
                wrong = wrong or arguments.action == "fetch" or not row["missing"]
            rows.append(row)
    if arguments.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return int(wrong)
    for row in rows:
        name = f"{row['task']} {row['split']}"
        if row["rows"] is None:
            unremarkable = row["missing"] and arguments.action == "status"
            print(f"{name:<28} {'not found' if unremarkable else row['problem']}")
        else:
            notes = "".join(f"; {note}" for note in row["notes"])
            print(f"{name:<28} {row['rows']:>9,} rows  {row['sha256'][:12]}  {row['origin']}{notes}")
    if any(row["rows"] is None for row in rows):
        print("Give --data DIR for files, or run 'benchrunner data fetch' to ask the hub.", file=sys.stderr)
    return int(wrong)
