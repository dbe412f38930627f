"""Another operating system: the command line works without what only Linux has.

A process loads the libraries, then removes what another system does not have, and only then imports benchrunner. It
is a fork, which may know benchrunner already, and forgets it first.
"""

import json
import os
from pathlib import Path

import pytest

import forked
import inline
from benchrunner.process import platform_facts
from benchrunner.process.platform_facts import available_cores, current_umask

LIBRARIES = (
    "import sys\nfor name in [name for name in sys.modules if name.startswith(('benchrunner', 'inline'))]:\n"
    "    del sys.modules[name]\n"
    "import datasets, filelock, numpy, pyarrow, rich.console, rich.table, safetensors.torch, torch, tokenizers\n"
)
MACOS = "import os; del os.sched_getaffinity\n"

PROGRAM = f"""
import json, os, sys
os.dup2(1, 2)
sys.path.insert(0, {str(Path(inline.__file__).parent)!r})
from benchrunner.command_line.main import main
from inline import plugins

for words in json.loads(sys.argv[1]):
    print("$", *words, flush=True)
    try:
        code = main(words, plugins=plugins())
    except SystemExit as ended:
        code = ended.code
    print("exit code", code, flush=True)
"""


def outputs(folder: Path, *commands: str) -> list[str]:
    """Run commands one after another in a process as on macOS; return what each printed, with its exit code."""
    (folder / "program.py").write_text(f"{LIBRARIES}{MACOS}{PROGRAM}")
    environment = {**os.environ, "BENCHRUNNER_CACHE": str(folder / "cache"), "COLUMNS": "200"}
    words = json.dumps([command.split() for command in commands])
    process = forked.run(["program.py", words], cwd=folder, env=environment)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout.split("$ ")[1:]


def test_commands_work_on_another_system(tmp_path: Path) -> None:
    inline.files(1, tmp_path / "data")
    common = "--backbone words --data data --runs runs --device cpu --quiet"
    commands = ("list tasks", "--help", "doctor", f"run mood {common} --jobs 1", f"submit moods {common}")
    printed = outputs(tmp_path, *commands)
    assert [text.splitlines()[-1] for text in printed] == ["exit code 0"] * 5, printed
    expected = ("mine (1)", "usage: benchrunner", "devices   cpu", "mine/mood: run ", "moods.zip is ready")
    assert [text in out for text, out in zip(expected, printed, strict=True)] == [True] * 5, printed
    assert len(list(tmp_path.glob("runs/*/model/head.safetensors"))) == 1


def test_cores_are_counted_without_an_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if hasattr(os, "sched_getaffinity"):
        assert available_cores() == len(os.sched_getaffinity(0))
        monkeypatch.delattr(os, "sched_getaffinity")
    assert available_cores() == os.cpu_count()


@pytest.mark.parametrize(
    ("files", "threads", "cores"),
    [
        ({"cpu.max": "250000 100000"}, None, 2),
        ({"cpu.max": "max 100000"}, None, 8),
        ({"cpu.max": "50000 100000"}, None, 1),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, None, 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None, 8),
        ({}, "4", 4),
        ({}, "4,2", 8),
        ({"cpu.max": "damaged"}, "0", 1),
    ],
)
def test_a_quota_limits_the_cores(
    files: dict[str, str], threads: str | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(platform_facts, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", threads) if threads else monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert available_cores() == cores


def test_the_umask_is_read_and_left_as_it_is() -> None:
    before = os.umask(0o027)
    try:
        assert (current_umask(), current_umask()) == (0o027, 0o027)
    finally:
        os.umask(before)
