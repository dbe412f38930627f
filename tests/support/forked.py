"""Python processes that start without importing PyTorch and DeepSpeed again.

An import of these libraries costs several seconds of CPU time, more than most tests. One server process imports the
libraries once. `Process` then starts a Python command line as a fork of the server: a process of its own, with its own
exit code, that can be killed and interrupted like any other. Forks share the server's hash seed; a test that needs
another hash seed starts a fresh process with `subprocess`.
"""

import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from json import dumps, loads
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

LIBRARIES = ("torch", "torch._dynamo", "tokenizers", "safetensors.torch", "pyarrow.parquet", "pandas", "scipy.stats")
PACKAGES = ("benchrunner", "benchrunner_bert")
IMPORTED_AGAIN = ("huggingface_hub", "datasets")
"""Libraries that read environment variables when they are imported. The others of this kind are handled by name."""


class Process:
    """A running `python ARGUMENTS`, forked from the server. Has the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        start_new_session: bool = False,
        imports: Sequence[str] = (),
    ) -> None:
        """Start the process. `imports` names more modules that the server imports first, for this and later forks."""
        folder = Path(tempfile.mkdtemp(dir=_server().folder))
        self._out, self._err = folder / "out", folder / "err"
        self.returncode: int | None = None
        self.pid: int = _server().ask(
            {
                "arguments": list(arguments),
                "env": dict(os.environ if env is None else env),
                "cwd": str(cwd or Path.cwd()),
                "streams": [str(self._out), str(self._err)],
                "session": start_new_session,
                "imports": list(imports),
            }
        )

    def poll(self) -> int | None:
        """Return the exit code of a process that has ended, negative after a signal, and None while it runs."""
        if self.returncode is None:
            self.returncode = _server().ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float = 600) -> int:
        """Return the exit code as soon as the process has ended."""
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                self.kill()
                raise TimeoutError(f"The process {self.pid} did not end within {timeout} s.")
            time.sleep(0.01)
        return code

    def communicate(self, timeout: float = 600) -> tuple[str, str]:
        """Wait for the end; return what the process wrote to standard output and standard error."""
        self.wait(timeout)
        return self.output(), self._err.read_text(encoding="utf-8")

    def output(self) -> str:
        """Return what the process has written to standard output so far."""
        return self._out.read_text(encoding="utf-8") if self._out.exists() else ""

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.send_signal(signal.SIGKILL)


def run(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    imports: Sequence[str] = (),
    timeout: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` to its end."""
    process = Process(arguments, env=env, cwd=cwd, imports=imports)
    out, err = process.communicate(timeout)
    return subprocess.CompletedProcess(list(arguments), process.wait(), out, err)


def spent() -> float:
    """Return the processor time, in seconds, of the servers that have not ended and of their ended forks."""
    return sum(float(server.ask({"spent": True})) for server in _servers if server.is_alive)


class _Server:
    """The process that has imported the libraries."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="forked-")
        self.folder = Path(self._home.name)
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            # Asked by NVML, CUDA is not initialised, and the forks can still use it.
            env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.close)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the server has ended: its standard error says why"
        return loads(answer)

    def close(self) -> None:
        """End the server and wait for it, so that its CPU time counts as this process's children's."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()
        self._home.cleanup()


_servers = list[_Server]()


def _server() -> _Server:
    """Return the server; a new one if a test has ended it, so that the next tests do not fail as well."""
    if not _servers or not _servers[-1].is_alive:
        _servers.append(_Server())
    return _servers[-1]


# The server's side


def _import() -> None:
    """Import what commands import. A process of a launcher imports DeepSpeed itself where there is a GPU to choose."""
    for name in LIBRARIES:
        _import_installed(name)
    if not sys.modules["torch"].cuda.is_available():
        os.environ["DS_ACCELERATOR"] = "cpu"
        sys.modules.setdefault("mlflow", None)  # type: ignore[arg-type]  # DeepSpeed would import it for a second
        _import_installed("deepspeed")
        if sys.modules["mlflow"] is None:
            del sys.modules["mlflow"]
    for name in PACKAGES:
        package = _import_installed(name)
        for module in pkgutil.walk_packages(package.__path__ if package else (), f"{name}."):
            if not module.name.endswith("__main__"):
                _import_installed(module.name)


def _import_installed(name: str) -> ModuleType | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            return None


def _serve(replies: TextIO) -> dict[str, Any]:
    """Answer requests; return the request to be worked on, in the child."""
    for line in sys.stdin:
        request: dict[str, Any] = loads(line)
        if "poll" in request:
            ended, status = os.waitpid(request["poll"], os.WNOHANG)
            print(dumps(os.waitstatus_to_exitcode(status) if ended else None), file=replies, flush=True)
            continue
        if "spent" in request:
            print(sum(os.times()[:4]), file=replies, flush=True)
            continue
        for name in request["imports"]:
            _import_installed(name)
        if child := os.fork():
            print(child, file=replies, flush=True)
        else:
            replies.close()
            return request
    raise SystemExit


def _become(request: dict[str, Any]) -> None:
    """Be the process that was asked for."""
    if request["session"]:
        os.setsid()
    for number, path in ((0, os.devnull), *zip((1, 2), request["streams"], strict=True)):
        stream = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a suite under nohup ignores it
    imported_with = os.environ.get("OMP_NUM_THREADS")
    os.environ.clear()
    os.environ.update(request["env"])
    if (threads := os.environ.get("OMP_NUM_THREADS")) != imported_with:  # OpenMP read its variable at the import
        cores = os.cpu_count() or 1
        sys.modules["torch"].set_num_threads(min(int(threads or cores), cores))
    for name in [name for name in sys.modules if name.split(".")[0] in IMPORTED_AGAIN]:
        del sys.modules[name]
    os.chdir(request["cwd"])
    sys.path[1:1] = [path for path in request["env"].get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _run(arguments: Sequence[str], folder: str) -> None:
    """Do what `python ARGUMENTS` does in a folder."""
    kind, *rest = arguments
    if kind == "-m":
        sys.path[0], sys.argv = folder, rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        code, *rest = rest
        sys.path[0], sys.argv = "", ["-c", *rest]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0], sys.argv = str(Path(kind).parent), [kind, *rest]
        runpy.run_path(kind, run_name="__main__")


def _exit_code(work: Callable[[], None]) -> int:
    """Do some work; return the exit code that Python would end with."""
    try:
        work()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    _import()
    gc.collect()
    gc.freeze()
    request = _serve(answers)
    _become(request)
    code = _exit_code(lambda: _run(request["arguments"], request["cwd"]))
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Python's own end takes all modules apart, which takes a second
