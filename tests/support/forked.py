"""Python processes that start without importing PyTorch and DeepSpeed again.

An import of these libraries costs several seconds of CPU time, more than most tests. One server process imports the
libraries once. `Process` then starts a Python command line as a fork of the server: a process of its own, with its own
exit code, that can be killed and interrupted like any other. Forks share the server's hash seed; a test that needs
another hash seed starts a fresh process with `subprocess`.

The Python processes that a fork starts are forks of the server too, unless the fork has a session of its own: the
server's forks are in the server's session. `Popen` does the same for the processes that the test's own process starts.
"""

import atexit
import contextlib
import fcntl
import gc
import importlib
import os
import pkgutil
import runpy
import select
import signal
import socket
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
from typing import Any

LIBRARIES = ("torch", "torch._dynamo", "tokenizers", "safetensors.torch", "pyarrow.parquet", "pandas", "scipy.stats")
PACKAGES = ("benchrunner", "benchrunner_bert")
IMPORTED_AGAIN = ("huggingface_hub", "datasets", "transformers")
"""Libraries that read environment variables when they are imported. The others of this kind are handled by name."""
KEPT = ("transformers.utils.import_utils",)
"""Modules of these libraries that read none: this one remembers what is installed, and what is in every file."""
TRANSFORMERS = ("transformers.modeling_utils", "transformers.models.auto", "transformers.integrations.hub_kernels")
"""What a test may add to `imports`; the modules that these import are most of their price."""
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that a process inherits as ignored."""

PYTHONPATH = os.environ.get("PYTHONPATH", "")
"""Where the server finds the code that is tested: tests change the variable for the processes that they start."""


class _Fork:
    """A fork of the server. Has the methods of `subprocess.Popen` that benchrunner, submitit and tests use."""

    def __init__(self, request: dict[str, Any], streams: Sequence[int] = ()) -> None:
        self.returncode: int | None = None
        self.pid: int = _ask(request, streams)

    def poll(self) -> int | None:
        """Return the exit code of a process that has ended, negative after a signal, and None while it runs."""
        if self.returncode is None:
            self.returncode = _ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code as soon as the process has ended."""
        end = time.monotonic() + (600 if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("python", timeout or 600)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Process(_Fork):
    """A running `python ARGUMENTS`, whose output is kept in files."""

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
        request = _command(arguments, env, cwd) | {"session": start_new_session, "imports": list(imports)}
        super().__init__(request | {"files": [str(self._out), str(self._err)]})

    def wait(self, timeout: float | None = 600) -> int:
        """Return the exit code as soon as the process has ended; kill it if that takes too long."""
        try:
            return super().wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TimeoutError(f"The process {self.pid} did not end within {timeout} s.") from None

    def communicate(self, timeout: float = 600) -> tuple[str, str]:
        """Wait for the end; return what the process wrote to standard output and standard error."""
        self.wait(timeout)
        return self.output(), self._err.read_text(encoding="utf-8")

    def output(self) -> str:
        """Return what the process has written to standard output so far."""
        return self._out.read_text(encoding="utf-8") if self._out.exists() else ""


class Popen(subprocess.Popen[Any]):
    """Stands in for `subprocess.Popen`: a Python program without pipes is a fork of the server."""

    def __new__(cls, words: Any, *rest: Any, **settings: Any) -> Any:
        """Start a program."""
        if cls is not Popen:
            return super().__new__(cls)
        return (_FRESH if rest or not _can_be_a_fork(words, settings) else _forked)(words, *rest, **settings)


_FRESH = subprocess.Popen


def _can_be_a_fork(words: Any, settings: Mapping[str, Any]) -> bool:
    others = settings.keys() - {"stdin", "stdout", "stderr", "pass_fds", "env", "cwd", "encoding", "shell"}
    is_python = not isinstance(words, str) and list(words)[:1] == [sys.executable] and not settings.get("shell")
    pipes = [name for name, value in settings.items() if value in (subprocess.PIPE, subprocess.STDOUT)]
    return is_python and not others and not pipes


def _forked(words: Sequence[str], **settings: Any) -> _Fork:
    """Start a Python program with the streams, the mask of signals and the ignored signals that it would inherit."""
    arguments = [word for word in words[1:] if word != "-u"]
    passed = list(settings.get("pass_fds", ()))
    with Path(os.devnull).open("r+") as nowhere:
        streams = list[int]()
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            stream: Any = settings.get(name)
            known = {None: number, subprocess.DEVNULL: nowhere.fileno()}
            streams.append(stream.fileno() if hasattr(stream, "fileno") else known.get(stream, stream))
        request = _command(arguments, settings.get("env"), settings.get("cwd")) | {
            "streams": [0, 1, 2, *passed],
            "blocked": [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
            "ignored": [int(number) for number in STOPS if signal.getsignal(number) is signal.SIG_IGN],
        }
        return _Fork(request, [*streams, *passed])


def _command(arguments: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None) -> dict[str, Any]:
    return {
        "arguments": list(arguments),
        "env": dict(os.environ if env is None else env),
        "cwd": str(cwd or Path.cwd()),
    }


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
    return sum(float(_asked(server.address, {"spent": True})) for server in _servers if server.is_alive)


class _Server:
    """The process that has imported the libraries."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="forked-")
        self.folder = Path(self._home.name)
        self.address = str(self.folder / "server")
        environment = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": PYTHONPATH}
        # Asked by NVML, CUDA is not initialised, and the forks can still use it.
        environment["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen()
            self._process = _FRESH(
                [sys.executable, __file__, str(listener.fileno()), self.address],
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
            )
        atexit.register(self.close)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

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


_address = [""]
"""Where a fork finds the server that it is a fork of."""


def _ask(request: dict[str, Any], streams: Sequence[int] = ()) -> Any:
    return _asked(_address[0] or _server().address, request, streams)


def _asked(address: str, request: dict[str, Any], streams: Sequence[int] = ()) -> Any:
    """Send a request and open files to the server at an address; return its answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        socket.SocketType.connect(connection, address)  # a test may have replaced the method of the class below
        socket.send_fds(connection, [b"\n"], streams)
        connection.sendall(dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile().read()
    assert answer, "the server has ended: its standard error says why"
    return loads(answer)


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


def _serve(listener: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Answer requests; return the request to be worked on and its open files, in the child."""
    codes = dict[int, int]()  # exit codes of forks
    while listener.fileno() in select.select([0, listener.fileno()], [], [])[0]:
        connection, _ = listener.accept()
        with connection:
            streams = socket.recv_fds(connection, 1, 32)[1]
            request: dict[str, Any] = loads(connection.makefile().read())
            with contextlib.suppress(ChildProcessError):
                while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                    codes[ended[0]] = os.waitstatus_to_exitcode(ended[1])
            if "poll" in request:
                answer: object = codes.get(request["poll"])
            elif "spent" in request:
                answer = sum(os.times()[:4])
            else:
                for name in request.get("imports", ()):
                    _import_installed(name)
                answer = child = os.fork()
                if not child:
                    listener.close()
                    return request, streams
                codes.pop(child, None)
            connection.sendall(dumps(answer).encode())
            for stream in streams:
                os.close(stream)
    raise SystemExit


def _become(request: dict[str, Any], streams: Sequence[int]) -> None:
    """Be the process that was asked for."""
    if request.get("session"):
        os.setsid()
    else:
        vars(subprocess)["Popen"] = Popen
    files = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in request.get("files", ())]
    if files:
        streams = [os.open(os.devnull, os.O_RDONLY), *files]
    numbers = request.get("streams", range(3))
    copies = [fcntl.fcntl(stream, fcntl.F_DUPFD, 16 + max(numbers)) for stream in streams]
    for stream in streams:
        os.close(stream)
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
        os.close(copy)
    for number in STOPS:  # a suite under nohup ignores SIGHUP
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in request.get("ignored", ()) else usual)
    signal.pthread_sigmask(signal.SIG_SETMASK, request.get("blocked", ()))
    imported_with = os.environ.get("OMP_NUM_THREADS")
    os.environ.clear()
    os.environ.update(request["env"])
    if (threads := os.environ.get("OMP_NUM_THREADS")) != imported_with:  # OpenMP read its variable at the import
        cores = os.cpu_count() or 1
        sys.modules["torch"].set_num_threads(min(int(threads or cores), cores))
    for name in [name for name in sys.modules if name.split(".")[0] in IMPORTED_AGAIN and name not in KEPT]:
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


def exit_code(work: Callable[[], None]) -> int:
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
    number, _address[0] = sys.argv[1:]
    _import()
    gc.collect()
    gc.freeze()
    request, streams = _serve(socket.socket(fileno=int(number)))
    _become(request, streams)
    code = exit_code(lambda: _run(request["arguments"], request["cwd"]))
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Python's own end takes all modules apart, which takes a second
