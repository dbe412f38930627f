"""A folder with task files is a suite, here or as a data set on the hub, of which one commit is kept and named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mood_file import TASK

import forked
from benchrunner import RequestError, Workspace
from benchrunner.results import Plugins
from hub_server import Hub, Repository

ROWS = "text,mood\na fine day,glad\na gray day,sad\n"
CLIENT = """
import json, sys
from benchrunner import BenchrunnerError, Workspace
from benchrunner.results import discover
plugins, told = discover(), []
for name in sys.argv[1:]:
    try:
        workspace = Workspace.from_environment()
        tasks = plugins.tasks_of([name])
        told.append([[task.title, *task.load("train", workspace).notes] for task in tasks])
    except BenchrunnerError as error:
        told.append(str(error))
print(json.dumps(told))
"""


def write_suite(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.toml").write_text(TASK)
    for split in ("train", "dev"):
        (folder / f"{split}.csv").write_text(ROWS)
    return folder


def test_a_folder_is_the_suite_of_its_task_files(tmp_path: Path, plugins: Plugins, workspace: Workspace) -> None:
    folder = write_suite(tmp_path / "suite", "b", "a")
    (folder / "study.toml").write_text('title = "no task"\n')
    tasks = plugins.tasks_of([str(folder)])
    assert [task.title for task in tasks] == ["a", "b"]
    assert tasks[0].load("train", workspace).notes == ()


def test_a_folder_without_task_files_is_refused(tmp_path: Path, plugins: Plugins) -> None:
    (tmp_path / "study.toml").write_text('title = "no task"\n')
    with pytest.raises(RequestError, match="no task file is there"):
        plugins.tasks_of([str(tmp_path)])


def test_a_suite_of_the_hub_is_kept_at_its_commit(tmp_path: Path) -> None:
    served = tmp_path / "hub" / "datasets" / "somebody"
    suite = write_suite(served / "moods", "a", "b")
    write_suite(served / "moods@old", "c")
    (suite / "code.py").write_text("raise SystemExit")
    (suite / "rows.pkl").write_bytes(b"")
    out = write_suite(served / "out") / "out.toml"
    out.write_text(TASK.replace("dev.csv", "../dev.csv"))
    write_suite(served / "empty")
    cache = tmp_path / "cache"

    def told(*names: str, **variables: str) -> list[Any]:
        environment = {**os.environ, **hub.environment(tmp_path / "home"), "BENCHRUNNER_CACHE": str(cache)}
        done = forked.run(["-c", CLIENT, *names], env={**environment, **variables})
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))

    with Hub(tmp_path / "hub") as hub:
        whole, old, absent, revision, empty, outside, name = told(
            *(f"hub:somebody/{name}" for name in ("moods", "moods@old", "absent", "moods@new", "empty", "out")),
            "hub:../moods",
        )
        commits = [Repository("datasets", "somebody/moods", served / name).commit for name in ("moods", "moods@old")]
    note, old_note = (f"from hub:somebody/moods@{commit}" for commit in commits)
    assert whole == [["a", note], ["b", note]] and old == [["c", old_note]]
    kept = {path.name for path in (cache / "suites" / "somebody" / f"moods@{commits[0]}").iterdir()}
    assert kept == {"a.toml", "b.toml", "train.csv", "dev.csv"}
    for error, reason in ((absent, "404"), (revision, "404"), (name, "")):
        assert "could not be read: " in error and reason in error and "\n" not in error
    assert empty.endswith("hub:somebody/empty: no task file is there, which is a .toml file with a problem.")
    assert "leads out of the folder" in outside
    lost = told("hub:somebody/moods", "hub:somebody/absent")  # the hub serves no more
    assert lost[0] == whole and "cannot be reached" in lost[1]
    offline = told("hub:somebody/moods", f"hub:somebody/moods@{commits[1]}", "hub:somebody/absent", HF_HUB_OFFLINE="1")
    assert offline[:2] == [whole, old] and "could not be read" in offline[2]
