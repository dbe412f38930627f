"""Other operating systems: the command line works without what only Linux or POSIX has.

A process loads the libraries, then removes what another system does not have, and only then imports benchrunner. It
is a fork, which may know benchrunner already, and forgets it first.
"""

import errno
import json
import os
import signal
from pathlib import Path

import pytest

import forked
import inline
from benchrunner.process import platform_facts
from benchrunner.process.platform_facts import available_cores, current_umask, is_folder_in_the_way, stop_signals

LIBRARIES = (
    "import sys\nfor name in [name for name in sys.modules if name.startswith(('benchrunner', 'inline'))]:\n"
    "    del sys.modules[name]\n"
    "import datasets, filelock, numpy, pyarrow, rich.console, rich.table, safetensors.torch, torch, tokenizers\n"
)
MACOS = "import os; del os.sched_getaffinity\n"
WINDOWS = (
    MACOS
    + """
import errno, fcntl, shutil, signal, stat, sys
shutil._use_fd_functions = False
names = [name for name in vars(signal) if name in ("SIGHUP", "SIGKILL", "SIGUSR1") or name.startswith("pthread")]
for name in [*names, "SIG_BLOCK", "SIG_SETMASK", "SIG_UNBLOCK"]:
    delattr(signal, name)
for name in ("O_DIRECTORY", "umask", "fork", "getuid", "killpg", "setsid"):
    delattr(os, name)
sys.modules["resource"] = sys.modules["pwd"] = None
real_open, real_read, real_replace, real_fsync, flags = os.open, os.read, os.replace, os.fsync, fcntl.fcntl
os.O_BINARY = 1 << 28
texts = set()

def open_like_windows(path, flags, *arguments, **settings):
    if stat.S_ISDIR(os.stat(path).st_mode) if os.path.exists(path) else False:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    number = real_open(path, flags & ~os.O_BINARY, *arguments, **settings)
    (texts.discard if flags & os.O_BINARY else texts.add)(number)
    return number

def read_like_windows(handle, size):
    content = real_read(handle, size)
    return content.replace(b"\\r\\n", b"\\n") if handle in texts else content

def replace_like_windows(source, target, **settings):
    if os.path.isdir(target):
        raise PermissionError(errno.EACCES, "Access is denied", str(target))
    real_replace(source, target, **settings)

def fsync_like_windows(handle):
    if flags(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, "Bad file descriptor")
    real_fsync(handle)

os.open, os.read, os.replace, os.fsync = open_like_windows, read_like_windows, replace_like_windows, fsync_like_windows
"""
)
SYSTEMS = {"macos": MACOS, "windows": WINDOWS}


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


def outputs(system: str, folder: Path, *commands: str) -> list[str]:
    """Run commands one after another in a process of such a system; return what each printed, with its exit code."""
    (folder / "program.py").write_text(f"{LIBRARIES}{SYSTEMS[system]}{PROGRAM}")
    environment = {**os.environ, "BENCHRUNNER_CACHE": str(folder / "cache"), "COLUMNS": "200"}
    words = json.dumps([command.split() for command in commands])
    process = forked.run(["program.py", words], cwd=folder, env=environment)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout.split("$ ")[1:]


@pytest.mark.parametrize("system", SYSTEMS)
def test_commands_work_on_another_system(system: str, tmp_path: Path) -> None:
    inline.files(1, tmp_path / "data")
    common = "--backbone words --data data --runs runs --device cpu --quiet"
    commands = ("list tasks", "--help", "doctor", f"run mood {common} --jobs 1", f"submit moods {common}")
    printed = outputs(system, tmp_path, *commands)
    assert [text.splitlines()[-1] for text in printed] == ["exit code 0"] * 5, printed
    expected = ("mine/mood", "usage: benchrunner", "devices   cpu", "mine/mood: run ", "moods.zip is ready")
    assert [text in out for text, out in zip(expected, printed, strict=True)] == [True] * 5, printed
    assert len(list(tmp_path.glob("runs/*/model/head.safetensors"))) == 1


def test_windows_runs_no_workers_and_says_so(tmp_path: Path) -> None:
    inline.files(1, tmp_path / "data")
    refused, help_text = outputs("windows", tmp_path, "run mood --backbone words --data data --jobs 2", "demo --help")
    assert "fits run one after another: leave --jobs out" in refused and refused.endswith("exit code 2\n")
    assert "fits at the same time (default: 1)" in help_text


FILES = """
from pathlib import Path
from benchrunner.io.files import read_regular_file, write_folder_atomically

Path("lines").write_bytes(b"a\\r\\nb")
print(read_regular_file("lines"))

def write(part, text):
    (part / "text").write_text(text, encoding="utf-8")

for text in ("old", "new"):
    write_folder_atomically(Path("folder"), lambda part: write(part, text))
    print(Path("folder/text").read_text(encoding="utf-8"), [path.name for path in Path().iterdir() if path.is_dir()])
"""


def test_files_and_folders_are_written_and_read_on_windows(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LIBRARIES + WINDOWS + FILES)
    process = forked.run(["program.py"], cwd=tmp_path)
    told = ["b'a\\r\\nb'", "old ['folder']", "new ['folder']"]
    assert process.stdout.splitlines() == told, process.stderr


def test_windows_denies_access_to_the_name_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    denied, there = PermissionError(errno.EACCES, "Access is denied"), OSError(errno.ENOTEMPTY, "Directory not empty")
    assert [is_folder_in_the_way(error) for error in (denied, there)] == [False, True]
    monkeypatch.delattr(os, "O_DIRECTORY")
    assert is_folder_in_the_way(denied)


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


def test_the_umask_is_read_and_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o027)
    try:
        assert (current_umask(), current_umask()) == (0o027, 0o027)
    finally:
        os.umask(before)
    monkeypatch.delattr(os, "umask")
    assert current_umask() == 0


def test_signals_that_a_system_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGHUP", raising=False)
    assert stop_signals() == [signal.SIGINT, signal.SIGTERM]
