"""Checkpoints by hub id, from a hub on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from bert_samples import fresh

import forked
from hub_server import Hub

CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.errors import CheckpointError
from benchrunner.workspace import Settings
from benchrunner.workspace import Workspace
from benchrunner_bert.family import BertFamily
cache, offline, answers = Path(sys.argv[1]), sys.argv[2] == "offline", []
workspace = Workspace(runs=cache, cache=cache, settings=Settings(offline=offline))
for reference in sys.argv[3:]:
    try:
        found = BertFamily().find(reference, workspace)
        if found is None:
            answers.append({"found": None})
            continue
        revision, model = found.revision(workspace), found.load(workspace, seed=3)
        total = sum(one.double().sum().item() for one in model.parameters())
        answers.append({"found": found.name, "revision": revision, "total": total, "notes": model.notes})
    except CheckpointError as error:
        answers.append({"error": str(error)})
print(json.dumps(answers))
"""


def asked(environment: dict[str, str], home: Path, *references: str, offline: bool = False) -> list[dict[str, Any]]:
    """What a process of its own finds under each reference."""
    if offline:
        environment = environment | {"HF_HUB_OFFLINE": "1"}
    arguments = ["-c", CLIENT, str(home / "cache"), "offline" if offline else "online", *references]
    done = forked.run(arguments, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A hub with three BERTs and something else."""
    models = tmp_path / "hub" / "models"
    model = fresh(hidden=24, heads=2, layers=1, inner=24)
    model.save(models / "somebody" / "small-bert")
    model.save(models / "google" / "bert_uncased_L-2_H-128_A-2")
    model.save(models / "old" / "bare-bert")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (models / "old" / "bare-bert" / name).unlink()
    (models / "somebody" / "gpt").mkdir()
    (models / "somebody" / "gpt" / "config.json").write_text('{"model_type": "gpt2"}')
    (models / "somebody" / "no-weights").mkdir()
    for name in ("config.json", "tokenizer.json"):
        content = (models / "somebody" / "small-bert" / name).read_bytes()
        (models / "somebody" / "no-weights" / name).write_bytes(content)
    return tmp_path / "hub"


def total() -> float:
    model = fresh(hidden=24, heads=2, layers=1, inner=24)
    return sum(one.double().sum().item() for one in model.parameters())


def test_a_hub_model_is_downloaded_once_and_then_found_offline(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Hub(root) as hub:
        environment = hub.environment(home)
        answers = asked(environment, home, "somebody/small-bert", "somebody/small-bert", "old/bare-bert")
        downloads = [one for one in hub.requests if one.startswith("GET") and "small-bert" in one]
        assert len([one for one in downloads if "model.safetensors" in one]) == 1
    first, again, bare = answers
    assert first == again
    assert first["found"] == "somebody/small-bert" and first["notes"] == []
    assert first["total"] == bare["total"] == pytest.approx(total(), abs=1e-9)
    assert first["revision"] != bare["revision"], "another set of tokenizer files"
    # The hub is gone: asked not to call it, or calling it in vain, the answer is the same.
    for offline in (True, False):
        assert asked(environment, home, "somebody/small-bert", "old/bare-bert", offline=offline) == [first, bare]


def test_hub_models_load_and_missing_files_are_a_clear_error(root: Path, tmp_path: Path) -> None:
    with Hub(root) as hub:
        references = ("bert/tiny", "somebody/gpt", "somebody/nothing", "somebody/no-weights")
        tiny, other, missing, weightless = asked(hub.environment(tmp_path / "home"), tmp_path, *references)
    assert tiny["found"] == "bert/tiny" and tiny["total"] == pytest.approx(total(), abs=1e-9)
    assert other == {"found": None}
    assert missing["error"].startswith("hub somebody/nothing: config.json cannot be fetched: ")
    assert "\n" not in missing["error"]
    assert weightless["error"] == "hub somebody/no-weights: there is no file pytorch_model.bin."
