"""The program `benchrunner` is stopped at any moment of its start: exit code 130, no traceback."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import pytest

import benchrunner_start
import inline
from benchrunner.command_line.main import main
from benchrunner.plugins import distributions
from benchrunner.plugins.discovery import discover

PROGRAMS = {"program": (benchrunner_start.__file__,), "module": ("-m", "benchrunner")}


def catches(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Return whether a process has a handler for a signal, by what Linux tells of it."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    match = re.search("SigCgt:\t([0-9a-f]+)", status)
    return match is not None and bool(int(match[1], 16) >> (number - 1) & 1)


def stopped_after(seconds: float, number: signal.Signals, program: str) -> tuple[int, str]:
    """Start the program, stop it some time after its first lines ran; return exit code and standard error."""
    words = [sys.executable, *PROGRAMS[program], "list"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    # The last handler that it sets; a suite under nohup ignores SIGHUP, and so do its children.
    last = signal.SIGTERM if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else signal.SIGHUP
    while not catches(process, last) and process.poll() is None:
        time.sleep(0.001)
    time.sleep(seconds)
    process.send_signal(number)
    return process.wait(), process.communicate()[1]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for a process's signals")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize("moments", [2, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_stop_while_the_program_is_loaded_is_quiet(program: str, moments: int, number: signal.Signals) -> None:
    endings = [stopped_after(moment / moments, number, program) for moment in range(moments)]
    quiet = {128 + number, 0, -number}  # at its very end Python has no handlers any more
    assert {code for code, _ in endings} <= quiet and endings[0] == (128 + number, "")
    assert [err for _, err in endings if "Traceback" in err or len(err.splitlines()) > 2] == []


STARTED = """
import contextlib, io, sys
from benchrunner.command_line.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(*sys.modules)
"""


def test_few_modules_are_imported_at_the_start() -> None:
    """Each takes a part of a millisecond, at every start. Modules of plugins, and of editable folders, are left out."""
    words = [sys.executable, "-c", STARTED, "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    names = done.stdout.split()
    own = [name for name in names if not name.startswith(("benchrunner_", "__editable__"))]
    assert len(own) <= 205, sorted(own)
    slow = {"ast", "hashlib", "packaging", "tomllib"}
    assert slow & set(own) <= {"ast"}, "`inspect` imports ast"


@pytest.mark.parametrize(("words", "imported"), [("--version", False), ("list", True)])
def test_the_version_is_shown_without_any_plugin(words: str, imported: bool, tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text("import pathlib\npathlib.Path(__file__).with_name('imported').touch()\n")
    (tmp_path / "heavy-1.0.dist-info").mkdir()
    (tmp_path / "heavy-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: heavy\nVersion: 1.0\n")
    (tmp_path / "heavy-1.0.dist-info" / "entry_points.txt").write_text("[benchrunner]\nheavy = heavy\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, *PROGRAMS["module"], words]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert (tmp_path / "imported").exists() == imported, done.stdout
    assert imported or done.stdout.startswith("benchrunner 0.")


def test_no_source_is_hashed_until_a_version_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[object] = []

    def source_hash(plugin: object, own: Collection[str] = ()) -> str:
        hashed.append(plugin)
        return "hash"

    monkeypatch.setattr(distributions, "source_hash", source_hash)
    plugins = discover(extra=[("own", inline.own())], installed=False)
    assert main(["list", "tasks"], plugins=plugins) == 0 and hashed == []
    assert plugins.core.version.endswith("+source.hash") and len(hashed) == 1
    assert plugins.core.version and len(hashed) == 1, "one value for the whole process"


FIT = """
import sys, inline
from pathlib import Path
from benchrunner.command_line.main import main
inline.files(1, Path("data"))
words = "run mood --backbone words --data data --runs runs --device cpu --quiet --limit-train 20"
code = main(words.split(), plugins=inline.plugins())
slow = {"transformers", "sklearn", "datasets", "scipy.stats", "torch._dynamo"}
print(code, sorted(slow & set(sys.modules)))
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("words", "code"), [("list", 0), ("--help", 0), ("lst", 2)])
def test_a_thread_of_a_plugin_keeps_no_command_from_ending(words: str, code: int, tmp_path: Path) -> None:
    endless = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    (tmp_path / "busy.py").write_text(
        f"from benchrunner import hookimpl\n{endless}@hookimpl\ndef register_tasks(): return []\n"
    )
    (tmp_path / "busy-1.0.dist-info").mkdir()
    (tmp_path / "busy-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: busy\nVersion: 1.0\n")
    (tmp_path / "busy-1.0.dist-info" / "entry_points.txt").write_text("[benchrunner]\nbusy = busy\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, *PROGRAMS["module"], words], env=environment, capture_output=True, text=True, timeout=40
    )
    assert ended.returncode == code, ended.stderr
    assert "busy is set aside" not in ended.stderr and (code or ended.stdout)


def test_a_fit_imports_no_pandas_no_statistics_and_no_compiler(tmp_path: Path) -> None:
    """Each takes half a second of a core; pyarrow imports pandas, where it is installed, for many calls.

    An optimizer of torch imports the compiler of torch. The interval of a score needs scipy.special alone.
    """
    (tmp_path / "pandas.py").write_text('raise RuntimeError("somebody imports pandas")')
    support = Path(__file__).parent / "support"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{support}", "BENCHRUNNER_CACHE": "cache"}
    words = [sys.executable, "-c", FIT]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["0 []"]), done.stdout + done.stderr
