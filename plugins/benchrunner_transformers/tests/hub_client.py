"""What a process of its own gets from a hub on this machine for references to models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import forked
from hub_server import Hub

CLIENT = """
import json, sys
from pathlib import Path
from benchrunner import RequestError, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
cache, offline, trusted, *references = sys.argv[1:]
answers = []
plugins = discover()
for reference in references:
    settings = Settings(offline=offline == "offline", trusted_code=trusted.split(), may_run_code=True)
    workspace = Workspace(runs=Path(cache), cache=Path(cache), settings=settings)
    try:
        backbone, family = plugins.backbone_search.find(reference, workspace)
        revision, encoder = backbone.revision(workspace), backbone.load(workspace, seed=3)
        total = sum(weight.double().sum().item() for weight in encoder.parameters())
        facts = {"family": family.name, "name": backbone.name, "revision": revision, "notes": encoder.notes}
        answers.append({**facts, "total": total})
    except RequestError as error:
        answers.append({"error": str(error)})
print(json.dumps(answers))
"""


def asked(hub: Hub, home: Path, *references: str, offline: bool = False, trusted: str = "") -> list[dict[str, Any]]:
    """Return what a process of its own gets for each reference."""
    environment = hub.environment(home) | ({"HF_HUB_OFFLINE": "1"} if offline else {})
    arguments = ["-c", CLIENT, str(home / "cache"), "offline" if offline else "online", trusted, *references]
    done = forked.run(arguments, env={**os.environ, **environment}, imports=forked.TRANSFORMERS)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return answers
